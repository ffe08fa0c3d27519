/** Texts that take a pattern long, as long as a client may send them. */

import assert from "node:assert/strict";
import { utf8 } from "../../shared/base/bytes.ts";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { BLANK_END } from "../../shared/engine/statement/parse.ts";
import { plainSpelling } from "../../shared/engine/pg_catalog/postgres_text.ts";
import { PG_PLANNER } from "../pg_catalog/planner.ts";
import type { PgSessionView } from "./pg_plan.ts";
import { parseCopy } from "./session/copy_statement.ts";
import {
  numberedParameters,
  splitStatements,
  withoutComments,
} from "./session/split_statements.ts";
import { parseSqlCommand } from "./session/sql_commands.ts";
import { errorFields } from "./sqlstate.ts";
import { TEXT_FORMAT } from "./types/formats.ts";
import { OID } from "./types/oids.ts";
import { parameterValue, type SentParameter } from "./types/parameters.ts";

/** A message may have so many characters and more. */
const LENGTH = 400_000;
/** A pattern that reads a text once for each of its characters takes minutes. */
const MS_MAX = 10_000;

const filled = (piece: string) => piece.repeat(Math.ceil(LENGTH / piece.length));
const session = {
  caller: { tenant: "default", namespace: "svc" },
  settings: PG_PLANNER.settings(new Map()),
} as PgSessionView;

const SPELLED: readonly string[] = [
  `SELECT '${filled(";")}x'`,
  `SELECT '${filled(" ")}x'`,
  `SELECT ${filled("/* ")}`,
  `SELECT ${Array.from({ length: LENGTH / 8 }, (_, at) => `$a${at}$ `).join("")}`,
  `COPY events TO STDOUT ${filled("( ")}`,
  `COPY events TO STDOUT (${filled(" ")}`,
  `COPY (${filled("/* ")}`,
  `COPY (${Array.from({ length: LENGTH / 8 }, (_, at) => `$a${at}$ `).join("")}`,
  `SELECT ${filled("set_config('a','x ")}`,
  `EXECUTE p(${filled("1,")}1)`,
  `EXECUTE p('${filled(" ")}'::x, ${filled("a ")}'')`,
  `EXECUTE p(${filled("(")}`,
  `PREPARE p(${filled("int,")}int) AS SELECT ${filled("$1,")}`,
  `PREPARE p(${filled("a ")}) AS SELECT 1`,
  filled("PREPARE p AS "),
  `DECLARE c ${filled("no scroll ")}`,
];

const VALUES: readonly (readonly [oid: number, text: string])[] = [
  [OID.date, filled("a")],
  [OID.timestamptz, `a${filled(" ")}xBC`],
  [OID.numeric, `${filled("1")}x`],
  [OID.numeric, `1${filled(" ")}x`],
  [OID.bool, filled(" ")],
];

Deno.test({
  name: "no text that a client sends holds up the server's other sessions",
  async fn() {
    for (const sql of SPELLED) {
      await inTime(sql, async () => {
        splitStatements(sql);
        parseCopy(withoutComments(sql));
        parseSqlCommand(withoutComments(sql));
        numberedParameters(sql);
        await PG_PLANNER.plan(sql, session);
      });
      await inTime(sql, () => plainSpelling(`${sql} pg_catalog.x`).replace(BLANK_END, ""));
    }
    for (const [oid, text] of VALUES) {
      const sent: SentParameter = { bytes: utf8(text), format: TEXT_FORMAT, oid };
      await inTime(text, () => parameterValue(sent, 1));
    }
    for (const words of ["column ", "Table with name "]) {
      const error = new OperatingError("invalid_argument", filled(words));
      await inTime(words, () => errorFields(error));
    }
  },
});

async function inTime(text: string, work: () => unknown): Promise<void> {
  const startMs = performance.now();
  try {
    await work();
  } catch (error) {
    assert(isOperatingError(error) || error instanceof RangeError, String(error));
  }
  const tookMs = performance.now() - startMs;
  assert(tookMs < MS_MAX, `${text.slice(0, 40)}… took ${Math.round(tookMs)} ms`);
}

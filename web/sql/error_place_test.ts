import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { errorSpan, withoutQuote } from "./error_place.ts";

const LONG = `SELECT ${"raw, ".repeat(60)}nope FROM events`;

/** Statements that the engine refuses, and the text that its message points at. */
const CASES: readonly (readonly [sql: string, marked: string | undefined])[] = [
  ["SELEC 1", "SELEC"],
  ["SELECT nope FROM events", "nope"],
  ["SELECT *\nFROM evnts", "evnts"],
  ["SELECT raw,\n  nofn(raw)\nFROM events", "nofn"],
  ["SELECT raw FROM events WHERE\n  raw >", ">"],
  ["SELECT 'é', nope FROM events", "nope"],
  ["SELECT '本', '😀', nope FROM events", "nope"],
  [LONG, "nope"],
  [`${LONG.replace(" FROM", ", ".concat("raw, ".repeat(40), "raw FROM"))}`, "nope"],
  ["SELECT raw,\n\n  count(*)\n\nFROM events", "raw"],
  ['SELECT "no such" FROM events', '"no such"'],
  ["SELECT * FROM events; SELECT 1", undefined],
];

Deno.test("errorSpan finds the place that the engine's messages tell", async () => {
  await using lab = await EngineLab.open();
  await lab.commit([{ ns: 1_795_132_800_000_000_000n, raw: "a", attributes: null }]);
  for (const [sql, marked] of CASES) {
    const message = await lab.query(sql).then(() => "", (error: Error) => error.message);
    const span = errorSpan(message, sql);
    strictEqual(span === undefined ? undefined : sql.slice(span.from, span.to), marked, message);
  }
});

Deno.test("errorSpan tells nothing that the statement does not have", () => {
  for (
    const message of [
      "",
      "Cannot run it at line 7, column 1",
      "at line 1, column 900",
      "LINE 1: another text\n        ^",
      "LINE 9: SELECT 1\n        ^",
    ]
  ) strictEqual(errorSpan(message, "SELECT 1"), undefined, message);
  deepStrictEqual(errorSpan("at line 1, column 1", ""), undefined);
});

Deno.test("withoutQuote leaves the message and its remedies", () => {
  strictEqual(
    withoutQuote("Binder Error: no\nhint\n\nLINE 1: SELECT\n   ^"),
    "Binder Error: no\nhint",
  );
  strictEqual(withoutQuote("Cannot parse at line 1, column 2"), "Cannot parse at line 1, column 2");
});

/** Calls in calls of the dialect's macros: what grows too much is refused before it is bound. */

import assert from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

const nested = (depth: number, open: string, inner: string, close: string) =>
  `SELECT ${open.repeat(depth)}${inner}${close.repeat(depth)}`;

/** Six of the first kind took seconds to bind, ten would take hours. */
const REFUSED = [
  nested(10, "kv_extract(", "'a=1'", ", 'a')"),
  nested(10, "date_bin(INTERVAL 1 HOUR + (now() - ", "now()", "), now())"),
  nested(40, "replace('a', 'b', ", "'x'", ")"),
  nested(60, "repeat('x', length(", "'x'", "))"),
  nested(12, "match_terms('a', ", "'a'", ")::VARCHAR"),
];

const ANSWERED = [
  nested(2, "kv_extract(", "'a=\"a=1\"'", ", 'a')"),
  nested(10, "replace(", "'abc'", ", 'b', 'c')"),
  nested(30, "attr_get(", "'{}'", ", 'a')"),
  `SELECT ${Array.from({ length: 500 }, (_, i) => `attr_get('{"a": 1}', 'a${i}')`).join(", ")}`,
  `SELECT 7 IN (${Array.from({ length: 30_000 }, (_, i) => i).join(", ")})`,
];

Deno.test("statements whose macros grow too much are refused, and others answered", async () => {
  await using lab = await EngineLab.open();
  for (const sql of REFUSED) {
    await assert.rejects(lab.query(sql), { reason: "statement_too_large" }, sql.slice(0, 60));
  }
  for (const sql of ANSWERED) assert.equal((await lab.query(sql)).rows.length, 1, sql.slice(0, 60));
});

/** The page Logs asks which shapes of rows there were before: each shape is one row. */

import assert from "node:assert/strict";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { knownPatternsSql } from "../../web/logs/log_statements.ts";

const FIRST_MS = Date.parse("2026-09-21T14:00:00Z");
const ROWS = 150;

Deno.test("a shape that many different texts have is one row of the known patterns", async () => {
  await using lab = await EngineLab.open();
  await lab.commit(Array.from({ length: ROWS }, (_, at) => ({
    ns: BigInt(FIRST_MS + at) * 1_000_000n,
    raw: at % 3 === 0 ? `disk ${at} is full` : at % 3 === 1 ? `took ${at} ms` : "ready",
  })));
  const instants = { from: FIRST_MS, to: FIRST_MS + ROWS };
  const sql = knownPatternsSql({ table: "events", condition: "true", instants }, {
    text: "raw",
    patterns: ["disk <*> is full", "took <*> ms", "it's <*>"],
  });
  const { rows } = await lab.query(sql);
  assert.deepEqual(rows.map((row) => row.join(": ")).toSorted(), [
    ": 1",
    `disk <*> is full: ${ROWS / 3}`,
    `took <*> ms: ${ROWS / 3}`,
  ]);
});

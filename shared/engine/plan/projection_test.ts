import { deepStrictEqual } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

const HOST_BYTES = 1_000;

/** Columns whose bytes a statement is priced with. */
const CASES:
  readonly (readonly [columns: readonly string[] | "all", sql: string, scans?: number])[] = [
    [[], "SELECT count(*) FROM events"],
    [["host"], "SELECT HOST FROM events"],
    [["host", "raw"], "SELECT e.host FROM events e WHERE e.raw LIKE '%a%'"],
    [["timestamp"], "SELECT 1 FROM events ORDER BY timestamp"],
    ["all", "SELECT * FROM events"],
    ["all", "SELECT events FROM events"],
    ["all", "SELECT to_json(e) FROM events e"],
    ["all", "SELECT COLUMNS('h.*') FROM events"],
    ["all", "SELECT #1, #8 FROM events"],
    ["all", "SELECT * FROM (FROM events)"],
    ["all", "SELECT a FROM events t(a)"],
    ["all", "SELECT 1 FROM events NATURAL JOIN events f", 2],
    [["host"], "SELECT 1 FROM events JOIN events f USING (host)", 2],
  ];

Deno.test({
  name: "projectedColumns never leaves out what a statement reads",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    const ns = 1_790_000_000_000_000_000n;
    await lab.commit([{ ns, host: "x".repeat(HOST_BYTES), raw: "r", attributes: "{}" }]);
    const bytesOf = async (sql: string) => {
      await using prepared = await lab.prepare(sql);
      return prepared.cost.estimated_bytes_scanned / (prepared.cost.files_to_scan || 1);
    };
    const all = await bytesOf("SELECT * FROM events");
    for (const [columns, sql, scans = 1] of CASES) {
      await t.step(sql, async () => {
        let expected = columns === "all" ? all : 0;
        if (columns !== "all") {
          for (const column of columns) expected += await bytesOf(`SELECT "${column}" FROM events`);
        }
        deepStrictEqual(await bytesOf(sql), scans * expected);
      });
    }
  },
});

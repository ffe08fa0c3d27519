import { deepStrictEqual } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

/**
 * Rows, whether the price is exact, warnings; counts as DuckDB's manual defines the two
 * functions.
 */
const CASES: readonly (readonly [sql: string, rows: number, exact: boolean])[] = [
  ["SELECT 1", 0, true],
  ["SELECT * FROM range(10)", 10, true],
  ["SELECT * FROM range(1000000)", 1_000_000, true],
  ["SELECT * FROM range(5, 10)", 5, true],
  ["SELECT * FROM range(10, 5)", 0, true],
  ["SELECT * FROM range(0, 10, 3)", 4, true],
  ["SELECT * FROM range(10, 0, -3)", 4, true],
  ["SELECT * FROM range(-5, 5)", 10, true],
  ["SELECT * FROM generate_series(1, 10)", 10, true],
  ["SELECT * FROM generate_series(1, 10, 4)", 3, true],
  ["SELECT * FROM generate_series(5, 4)", 0, true],
  ["WITH a AS (SELECT * FROM range(6)) SELECT count(*) FROM a", 6, true],
  ["SELECT * FROM range((SELECT 3))", 0, false],
  ["SELECT * FROM range(DATE '2026-01-01', DATE '2026-02-01', INTERVAL 1 DAY)", 0, false],
  [
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 9) SELECT * FROM r",
    0,
    false,
  ],
];

Deno.test({
  name: "generatedRows count in the price before the statement runs",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    for (const [sql, rows, exact] of CASES) {
      await t.step(sql, async () => {
        await using prepared = await lab.prepare(sql);
        const { cost } = prepared;
        deepStrictEqual([cost.estimated_rows_processed, cost.exact], [rows, exact]);
        deepStrictEqual(cost.warnings.length > 0, !exact);
      });
    }
    await using huge = await lab.prepare("SELECT count(*) FROM range(1000000000000)");
    deepStrictEqual(
      [huge.cost.complexity_class, huge.cost.estimated_rows_processed],
      ["huge", 1e12],
    );
  },
});

import { deepStrictEqual, ok } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

/**
 * Rows beyond those of the sources that are certain to be made, and whether that is all. Worked out
 * by hand.
 */
const CASES: readonly (readonly [sql: string, joined: number, exact: boolean])[] = [
  ["SELECT * FROM range(3) a, range(4) b", 12, true],
  ["SELECT * FROM range(3) a CROSS JOIN range(4) b", 12, true],
  ["SELECT * FROM range(3) a JOIN range(4) b ON true", 12, true],
  ["SELECT count(*) FROM range(3) a, range(4) b, range(5) c", 60, true],
  ["SELECT count(*) FROM (SELECT * FROM range(3)) a, range(4) b", 12, true],
  ["SELECT * FROM range(3) a, range(4) b WHERE a.range = b.range", 0, true],
  ["SELECT * FROM range(3) a JOIN range(4) b ON a.range = b.range", 0, true],
  ["SELECT * FROM range(3) a JOIN range(4) b USING (range)", 0, true],
  ["SELECT * FROM range(3) a, range(4) b WHERE a.range < b.range", 0, false],
  ["SELECT * FROM range(3) a JOIN range(4) b ON a.range < b.range", 0, false],
  ["SELECT * FROM range(3) a, range(4) b WHERE a.range = 1", 0, false],
  ["SELECT * FROM range(3) a, range(4) b LIMIT 5", 0, false],
  ["SELECT * FROM (SELECT count(*) FROM range(3)) a, range(4) b", 4, true],
  ["SELECT * FROM (SELECT 1 UNION SELECT 2) a, range(4) b", 4, true],
  ["SELECT * FROM range(3) a POSITIONAL JOIN range(4) b", 0, true],
];

Deno.test({
  name: "joinedRows count in the price before the statement runs",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    for (const [sql, joined, exact] of CASES) {
      await t.step(sql, async () => {
        const sources = [...sql.matchAll(/range\((\d+)\)/g)]
          .reduce((sum, [, rows]) => sum + Number(rows), 0);
        await using prepared = await lab.prepare(sql);
        const { cost } = prepared;
        deepStrictEqual([cost.estimated_rows_processed, cost.exact], [sources + joined, exact]);
      });
    }
  },
});

Deno.test({
  name:
    "a join of stored tables on no equation takes long by its price, one on an equation does not",
  fn: async () => {
    await using lab = await EngineLab.open();
    const ns = 1_795_132_800_000_000_000n;
    await lab.commit(
      Array.from({ length: 20_000 }, (_, n) => ({ ns: ns + BigInt(n), raw: `r${n}` })),
    );
    const secsOf = async (sql: string) => {
      await using prepared = await lab.prepare(sql);
      return prepared.cost.estimated_runtime_seconds;
    };
    const pairs = "SELECT count(*) FROM events a, events b WHERE";
    ok(await secsOf(`${pairs} a.host = b.host`) < 0.1);
    ok(await secsOf(`${pairs} a.timestamp < b.timestamp`) > 1);
    const product = "SELECT count(*) FROM events a, events b";
    await using prepared = await lab.prepare(product);
    deepStrictEqual(prepared.cost.estimated_rows_processed, 20_000 * 20_000 + 2 * 20_000);
    ok(
      await secsOf("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT 1 FROM r") >
        0.1,
    );
  },
});

/**
 * What summaries say of all columns at once is what statements count one by one: rows with a value,
 * and rows by value, for random attributes, columns and ranges.
 */

import assert from "node:assert/strict";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { EngineLab } from "../../shared/testing/engine_lab.ts";
import type { ColumnCount, ColumnCountsRequest } from "../../shared/engine/types.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { attributeSql } from "../../shared/search/attribute_sql.ts";
import {
  type Batch,
  openAttributeLab,
  randomAttributes,
  randomColumns,
  SEEN_COLUMNS,
} from "./attribute_lab.ts";
import { ATTRIBUTE_NAMES } from "./attribute_statements.ts";

const BATCHES = 6;
const ROWS = 40;
const FIRST_NS = 1_763_700_000_000_000_000n;
const MINUTE_NS = 60_000_000_000n;

for (const seed of [1, 2, 3, 4]) {
  Deno.test({
    name: `columnCounts says what statements count, seed ${seed}`,
    async fn() {
      const random = new SeededRandom(seed);
      const batches: Batch[] = Array.from(
        { length: BATCHES },
        (_, batch) =>
          Array.from({ length: ROWS }, () => randomAttributes(random, { batch, isJson: true })),
      );
      await using lab = await openAttributeLab({
        batches,
        wal: seed % 2 === 0,
        columns: randomColumns(random, ATTRIBUTE_NAMES, { batches: 3, seen: SEEN_COLUMNS }),
        mergedAfter: new Set([2, 4].filter(() => random.float() < 0.7)),
      });
      const times = await lab.query(
        "SELECT min(timestamp_ns)::VARCHAR, max(timestamp_ns)::VARCHAR FROM events",
      );
      const [first, last] = (times.rows[0] ?? []).map((text) => BigInt(String(text)));
      assert.ok(first !== undefined && last !== undefined && first >= FIRST_NS);
      const minutes = (last - first) / MINUTE_NS;
      const instant = () =>
        (first / MINUTE_NS + BigInt(random.below(Number(minutes) + 2))) * MINUTE_NS;
      let compared = 0;
      for (let round = 0; round < 12; round += 1) {
        const [one, other] = [instant(), instant()];
        const range = {
          minNs: random.float() < 0.3 ? undefined : one < other ? one : other,
          maxNs: random.float() < 0.3 ? undefined : (one < other ? other : one) + MINUTE_NS - 1n,
        };
        compared += await compareCounts(lab, range);
      }
      assert.ok(compared > 40, `${compared} columns were compared`);
    },
  });
}

/** How many columns were compared. */
async function compareCounts(lab: EngineLab, range: ColumnCountsRequest["range"]): Promise<number> {
  const where = [
    ...(range.minNs === undefined ? [] : [`timestamp_ns >= ${range.minNs}`]),
    ...(range.maxNs === undefined ? [] : [`timestamp_ns <= ${range.maxNs}`]),
  ].map((bound) => ` AND ${bound}`).join("");
  await using prepared = await lab.prepare(`SELECT host FROM events WHERE true${where}`, {
    columnCounts: { range },
  });
  const { columnCounts: counts } = prepared;
  if (counts === undefined) return 0;
  assert.ok(counts.isExact);
  const committed = { snapshot: "latest", fastPaths: false };
  const { rows: [[all] = []] } = await lab.query(
    `SELECT count(*) FROM events WHERE true${where}`,
    committed,
  );
  assert.equal(counts.rows, all);
  const whole = counts.columns.filter(({ rowsCounted }) => rowsCounted === counts.rows);
  for (const column of whole) {
    const { rows } = await lab.query(
      `SELECT ${valueOf(column)} AS value, count(*) FROM events ` +
        `WHERE value IS NOT NULL${where} GROUP BY value`,
      committed,
    );
    const expected = new Map(rows.map(([value, count]) => [String(value), Number(count)]));
    const name = `${column.name} ${range.minNs} ${range.maxNs}`;
    assert.deepEqual(new Map([...column.values].sort()), new Map([...expected].sort()), name);
    assert.equal(column.rows, expected.values().reduce((sum, count) => sum + count, 0), name);
  }
  return whole.length;
}

function valueOf({ name, isAttribute }: ColumnCount): string {
  return isAttribute ? attributeSql(name) : `${quoteName(name)}::VARCHAR`;
}

Deno.test({
  name:
    "columnCounts widens a range to whole minutes and says so; rows of the WAL stay the statement's",
  async fn() {
    const batches: Batch[] = [0, 1, 2].map((batch) =>
      Array.from({ length: 3 }, (_, row) => `{"a":"${batch}-${row}"}`)
    );
    await using lab = await openAttributeLab({
      ...{ batches, wal: true, mergedAfter: new Set() },
      columns: new Map(),
    });
    const { rows: [[first] = []] } = await lab.query(
      "SELECT min(timestamp_ns)::VARCHAR FROM events",
    );
    const range = { minNs: BigInt(String(first)) + 1n, maxNs: undefined };
    const sql = `SELECT attributes FROM events WHERE timestamp_ns >= ${range.minNs}`;
    await using prepared = await lab.prepare(sql, { columnCounts: { range, names: ["host"] } });
    assert.deepEqual(prepared.columnCounts?.columns.map(({ name, rows }) => [name, rows]), [
      ["host", 3],
    ]);
    assert.deepEqual([prepared.columnCounts.rows, prepared.columnCounts.isExact], [3, false]);
    const { rows } = await lab.query(sql, { columnCounts: { range, names: ["host"] } });
    const waiting = batches.slice(1).flat();
    assert.deepEqual(rows.map(String).sort(), waiting);
    // Nothing counts an attribute without a column: the statement then reads all rows.
    const uncounted = await lab.query(sql, { columnCounts: { range, names: ["a"] } });
    assert.equal(uncounted.rows.length, 8);
  },
});

/** `exact_average` against DuckDB's own `avg`, bit by bit. */

import { DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import { AVERAGE_PROBE, EXACT_AVERAGE } from "./exact_average.ts";

/**
 * The SQL of a value of row `i` of group `g`. Together they make sums of all sizes below 2^63.
 */
const VALUES = [
  "(hash(i, g) % 20)::BIGINT",
  "(hash(i, g) % 1000000007)::BIGINT - 400000000",
  "(hash(i, g) % (1::BIGINT << 50))::BIGINT",
  "-((hash(i, g) % (1::BIGINT << 51))::BIGINT)",
  "CASE WHEN i = 0 THEN (hash(g) % (1::BIGINT << 62))::BIGINT ELSE 0 END",
  "CASE WHEN i % 3 = 0 THEN NULL ELSE (hash(i, g) % 3)::INTEGER END",
];

Deno.test("exact_average is avg, bit by bit, where the processor is one that it is for", async (t) => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    for (const sql of EXACT_AVERAGE) await connection.run(sql);
    const probed = await connection.runAndReadAll(AVERAGE_PROBE.sql);
    if (String(probed.getRows()[0]?.[0]) !== AVERAGE_PROBE.expected) return;
    for (const value of VALUES) {
      await t.step(value, async () => {
        const reader = await connection.runAndReadAll(`
          WITH own AS (
            SELECT g, ${value} AS x
            FROM range(400) AS groups(g), range(1500) AS rows(i) WHERE i <= 1100 + g
          ), sums AS (SELECT g, avg(x) AS a, sum(x) AS s, count(x) AS n FROM own GROUP BY g)
          SELECT count(*), count(*) FILTER (WHERE a IS DISTINCT FROM exact_average(s, n)) FROM sums`);
        const [groups, other] = reader.getRows()[0] ?? [];
        assert.deepEqual([groups, other], [400n, 0n]);
      });
    }
    const empty = await connection.runAndReadAll(
      "SELECT exact_average(NULL, 0), exact_average(0, 3), exact_average(NULL, NULL)",
    );
    assert.deepEqual(empty.getRows(), [[null, 0, null]]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

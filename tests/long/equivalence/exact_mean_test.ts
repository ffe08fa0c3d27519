/** `exact_mean` against DuckDB's own `avg`, bit by bit. */

import { DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import { AVERAGE_PROBE } from "../../../shared/engine/functions/exact_average.ts";
import { EXACT_MEAN } from "../../../shared/engine/functions/exact_mean.ts";

/**
 * The SQL of a value of row `i` of group `g`. Together they make sums of all sizes.
 */
const VALUES = [
  "(hash(i, g) % 20)::BIGINT",
  "(hash(i, g) % 1000000007)::BIGINT - 400000000",
  "(hash(i, g) % (1::BIGINT << 50))::BIGINT",
  "-((hash(i, g) % (1::BIGINT << 51))::BIGINT)",
  "CASE WHEN i = 0 THEN (hash(g) % (1::BIGINT << 62))::BIGINT ELSE 0 END",
  "(hash(i, g) >> 1)::BIGINT",
  "-((hash(i, g) >> 1)::BIGINT)",
  "(hash(i, g)::HUGEINT << (g % 50)::INTEGER)",
  "-(hash(i, g)::HUGEINT << (g % 50)::INTEGER)",
  "CASE WHEN i = 0 THEN hash(g)::HUGEINT << (g % 60)::INTEGER ELSE 0 END",
  "CASE WHEN i = 0 THEN -(hash(g)::HUGEINT << (g % 60)::INTEGER) ELSE 0 END",
  "(1790000000000000000 + (hash(i, g) % 1000000007)::BIGINT * 1000)::BIGINT",
  "(1152921504606846976 + g * 64 + i % 3 - 1)::BIGINT",
  "CASE WHEN i % 3 = 0 THEN NULL ELSE (hash(i, g) % 3)::INTEGER END",
];

/**
 * The SQL of sums whose means are near the middle between two doubles: `odd` has 54 bits. The sums
 * are of the middle, and of means that are a few steps off.
 */
const NEAR_MIDDLES = [
  "odd * n + step",
  "((odd * n) >> (g % 70)::INTEGER) + step",
  "((odd * n) << (g % 50)::INTEGER) + step",
  "((odd * n) << (g % 50)::INTEGER) + step * n * (1::HUGEINT << greatest((g % 50)::INTEGER - 12, 0))",
  "((odd * n) << (g % 50)::INTEGER) + step * n * (1::HUGEINT << greatest((g % 50)::INTEGER - 11, 0)) + step",
  "-(((odd * n) << (g % 50)::INTEGER) + step)",
  "CASE WHEN g % 2 = 0 THEN 1 ELSE -1 END * (170141183460469231731687303715884105727 - n - (hash(g) >> (g % 64)::INTEGER))",
];

Deno.test("exact_mean is avg, bit by bit, where the processor is one that it is for", async (t) => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    for (const sql of EXACT_MEAN) await connection.run(sql);
    const probed = await connection.runAndReadAll(AVERAGE_PROBE.sql);
    if (String(probed.getRows()[0]?.[0]) !== AVERAGE_PROBE.expected) return;
    for (const value of VALUES) {
      await t.step(value, async () => {
        const reader = await connection.runAndReadAll(`
          WITH own AS (
            SELECT g, ${value} AS x
            FROM range(400) AS groups(g), range(1500) AS rows(i) WHERE i <= 1100 + g
          ), sums AS (SELECT g, avg(x) AS a, sum(x) AS s, count(x) AS n FROM own GROUP BY g)
          SELECT count(*), count(*) FILTER (WHERE a IS DISTINCT FROM exact_mean(s, n)) FROM sums`);
        const [groups, other] = reader.getRows()[0] ?? [];
        assert.deepEqual([groups, other], [400n, 0n]);
      });
    }
    for (const total of NEAR_MIDDLES) {
      await t.step(total, async () => {
        // The number of values is a power of two for some groups: only such means are middles.
        const reader = await connection.runAndReadAll(`
          WITH drawn AS (
            SELECT g, (9007199254740992 + hash(g, 1) % 9007199254740992)::HUGEINT | 1::HUGEINT AS odd,
              (hash(g, 2) % 7)::HUGEINT - 3 AS step,
              CASE WHEN g % 3 = 0 THEN 1::HUGEINT << (hash(g, 3) % 8)::INTEGER
                ELSE (1 + hash(g, 3) % 150)::HUGEINT END AS n
            FROM range(4000) AS groups(g)
          ), totals AS (SELECT g, n, ${total} AS total FROM drawn),
          shares AS (SELECT g, n, total, total // n AS share FROM totals),
          own AS (
            SELECT g, CASE WHEN i = 0 THEN total - share * (n - 1) ELSE share END AS x
            FROM shares, range(150) AS rows(i) WHERE i < n
          ), sums AS (SELECT g, avg(x) AS a, sum(x) AS s, count(x) AS n FROM own GROUP BY g)
          SELECT count(*), count(*) FILTER (WHERE a IS DISTINCT FROM exact_mean(s, n)) FROM sums`);
        const [groups, other] = reader.getRows()[0] ?? [];
        assert.deepEqual([groups, other], [4000n, 0n]);
      });
    }
    const empty = await connection.runAndReadAll(
      "SELECT exact_mean(NULL, 0), exact_mean(0, 3), exact_mean(NULL, NULL)",
    );
    assert.deepEqual(empty.getRows(), [[null, 0, null]]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";
import type { QueryRequest } from "../types.ts";

const START_NS = 1_790_000_000_000_000_000n;

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  // Written oldest last, so that file order is not the answer by chance.
  const rows = [3, 1, 2, 5, 4].map((at) => ({
    ns: START_NS + BigInt(at) * 1_000_000_000n,
    host: `h${at}`,
  }));
  await lab.commit(rows, { sorted: false });
  return lab;
}

/** See docs/api/query.md#default-order. */
const CASES: readonly {
  readonly sql: string;
  readonly applied: boolean;
  readonly rows?: readonly string[];
  readonly options?: Partial<QueryRequest>;
}[] = [
  { sql: "SELECT host FROM events", applied: true, rows: ["h5", "h4", "h3", "h2", "h1"] },
  { sql: "SELECT host FROM events LIMIT 2", applied: true, rows: ["h5", "h4"] },
  { sql: "SELECT host FROM events LIMIT 2 OFFSET 1", applied: true, rows: ["h4", "h3"] },
  { sql: "SELECT host FROM events WHERE host < 'h3'", applied: true, rows: ["h2", "h1"] },
  { sql: "SELECT host FROM svc.events e", applied: true, rows: ["h5", "h4", "h3", "h2", "h1"] },
  {
    sql: "SELECT host, 'x' AS timestamp FROM events LIMIT 1",
    applied: true,
    rows: ["h5"],
  },
  {
    sql: "SELECT host FROM events",
    applied: true,
    options: { rowsMax: 2 },
    // One row more than the cap, so that truncation shows.
    rows: ["h5", "h4", "h3"],
  },
  { sql: "SELECT host FROM events", applied: false, options: { defaultOrder: false } },
  { sql: "SELECT host FROM events", applied: false, options: { defaultOrder: "limited" } },
  {
    sql: "SELECT host FROM events LIMIT 2",
    applied: true,
    options: { defaultOrder: "limited" },
    rows: ["h5", "h4"],
  },
  { sql: "EXPLAIN FROM events LIMIT 2", applied: false, options: { defaultOrder: "limited" } },
  { sql: "SELECT host FROM events ORDER BY host", applied: false },
  { sql: "SELECT host FROM events ORDER BY ALL", applied: false },
  { sql: "SELECT host FROM events GROUP BY host", applied: false },
  { sql: "SELECT host FROM events GROUP BY ALL", applied: false },
  { sql: "SELECT count(*) FROM events", applied: false },
  { sql: "SELECT max(host) || 'x' FROM events", applied: false },
  { sql: "SELECT DISTINCT host FROM events", applied: false },
  { sql: "WITH a AS (SELECT 1) SELECT host FROM events", applied: false },
  { sql: "WITH a AS (SELECT host FROM events) SELECT * FROM a", applied: false },
  { sql: "SELECT a.host FROM events a JOIN events b ON a.host = b.host", applied: false },
  { sql: "SELECT a.host FROM events a, events b", applied: false },
  { sql: "SELECT host FROM (SELECT * FROM events)", applied: false },
  { sql: "SELECT host FROM events UNION ALL SELECT host FROM events", applied: false },
  { sql: "SELECT a FROM events t(a, b)", applied: false },
  { sql: "EXPLAIN SELECT host FROM events", applied: false },
  { sql: "EXPLAIN FROM events", applied: false },
  { sql: "FROM events", applied: true },
  { sql: "TABLE events", applied: true },
  { sql: "FROM events SELECT host", applied: true, rows: ["h5", "h4", "h3", "h2", "h1"] },
  { sql: "SELECT e.host FROM events AS e", applied: true, rows: ["h5", "h4", "h3", "h2", "h1"] },
  { sql: "SELECT host FROM events OFFSET 3", applied: true, rows: ["h2", "h1"] },
  {
    sql: "SELECT host FROM events WHERE host IN (SELECT max(host) FROM events) OR host = 'h1'",
    applied: true,
    rows: ["h5", "h1"],
  },
  // Numbers survive being written anew.
  {
    sql: "SELECT host FROM events WHERE timestamp_ns > 1e9 AND 1e15 < timestamp_ns AND -1e0 < 0e0",
    applied: true,
    rows: ["h5", "h4", "h3", "h2", "h1"],
  },
  {
    sql:
      "SELECT host FROM events WHERE 9.007199254740993e15 + -0e0 < 1.5e20 AND 1e22 > 2.5e0 LIMIT 1",
    applied: true,
    rows: ["h5"],
  },
  { sql: "SELECT (SELECT count(*) FROM events), host FROM events", applied: true },
  { sql: "SELECT host FROM events -- ORDER BY host", applied: true },
  { sql: 'SELECT \'ORDER BY\' AS "GROUP BY", host AS "order" FROM events', applied: true },
  { sql: "SELECT host FROM events /* DISTINCT */", applied: true },
  { sql: "SELECT DISTINCT ON (host) host FROM events", applied: false },
  { sql: "SELECT 1 FROM events HAVING true", applied: false },
  { sql: "SELECT approx_distinct(host) FROM events", applied: false },
  { sql: "SELECT count(*) FILTER (WHERE true) FROM events", applied: false },
  { sql: "SELECT host FROM events USING SAMPLE 2", applied: false },
  { sql: "SELECT host FROM events LIMIT 40%", applied: false },
  { sql: "SELECT * FROM events NATURAL JOIN (SELECT 'h1' AS host)", applied: false },
  { sql: "SELECT * FROM events, LATERAL (SELECT host)", applied: false },
  { sql: "SELECT * FROM range(3)", applied: false },
  { sql: "SELECT host FROM (SELECT host FROM events ORDER BY host) AS events", applied: false },
  { sql: "WITH events AS (SELECT 1 AS host) SELECT host FROM events", applied: false },
  { sql: "(SELECT host FROM events) LIMIT 1", applied: true },
  { sql: "SELECT 1", applied: false },
  { sql: "VALUES (1)", applied: false },
];

Deno.test({
  name: "applyDefaultOrder by the table of the API",
  fn: async (t) => {
    await using lab = await openLab();
    for (const { sql, applied, rows, options } of CASES) {
      await t.step(`${sql} ${JSON.stringify(options ?? {})}`, async () => {
        const request = { defaultOrder: true, ...options };
        {
          await using prepared = await lab.prepare(sql, request);
          strictEqual(prepared.defaultOrderApplied, applied);
        }
        const answer = await lab.query(sql, request);
        if (rows !== undefined) deepStrictEqual(answer.rows.map((row) => row[0]), rows);
      });
    }
  },
});

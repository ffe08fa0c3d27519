/** Statements that pass preflight and are stopped while they run. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { rowsExceeded } from "../shared/engine/duckdb/rows_breaker.ts";
import { WarehouseLab } from "../shared/testing/warehouse_lab.ts";
import { OPTIONS, type QueryServer, startQuery } from "./mod.ts";
import { startTestServer } from "../tests/doubles/query_server.ts";
import { IN_THIS_PROCESS } from "../shared/testing/in_this_process.ts";

const ROWS = 1_000;
const START_NS = 1_790_000_000_000_000_000n;
const TRIPS = 'svc_query_breaker_trips_total{breaker="midflight_rows_scanned"}';

/**
 * A million rows between several steps, of two thousand that are planned: how many the WHERE leaves
 * nobody can tell before. DuckDB counts a guess of each step.
 */
const PAIRS = "(SELECT DISTINCT a.raw || b.raw AS pair FROM events a, events b " +
  "WHERE length(a.raw) + length(b.raw) > 0)";
const STEPS = Array.from({ length: 5 }).reduce<string>(
  (from) => `(SELECT DISTINCT md5(pair) AS pair FROM ${from})`,
  PAIRS,
);

async function open() {
  const lab = await WarehouseLab.open();
  await lab.commit(
    Array.from({ length: ROWS }, (_, n) => ({ ns: START_NS + BigInt(n), raw: `row ${n}` })),
  );
  const server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
      ...["--data-dir", lab.dir, "--audit-disabled", "--memory-pool-bytes", String(2 ** 29)],
    ]),
    IN_THIS_PROCESS,
  );
  return {
    server,
    post: (query: string, fields: Record<string, unknown> = {}) =>
      fetch(`http://127.0.0.1:${server.address.port}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query, ...fields }),
      }),
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await lab[Symbol.asyncDispose]();
    },
  };
}

async function metric(server: QueryServer, series: string): Promise<number> {
  const page = await fetch(`http://127.0.0.1:${server.metricsAddress.port}/metrics`);
  const line = (await page.text()).split("\n").find((line) => line.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

Deno.test({
  name: "a statement whose steps make more than max_rows_scanned is 413 with cost and counts",
  fn: async () => {
    await using lab = await open();
    const query = `SELECT max(md5(md5(md5(pair)))) FROM ${STEPS}`;
    const limits = { max_rows_scanned: 2 * ROWS };
    const response = await lab.post(query, { limits });
    const body = await response.json();
    deepStrictEqual(
      [response.status, body.code, body.reason, body.max_rows_scanned],
      [413, 413, "midflight_rows_scanned_exceeded", 2 * ROWS],
    );
    strictEqual(body.cost.estimated_rows_processed, 2 * ROWS, "preflight let it pass");
    ok(body.rows_scanned > 4 * ROWS, `${body.rows_scanned} rows`);
    strictEqual(await metric(lab.server, TRIPS), 1);
    strictEqual(
      await metric(lab.server, 'svc_query_requests_total{endpoint="sql",outcome="refused"}'),
      1,
    );
    strictEqual((await (await lab.post(query)).json()).row_count, 1, "the default allows it");
    strictEqual(await metric(lab.server, TRIPS), 1);
  },
});

Deno.test({
  name: "a stream past max_rows_scanned ends with a trailer that tells both counts",
  fn: async () => {
    // The engine's own trip comes too soon after its first rows to be sure that any were sent.
    await using server = await startTestServer({
      rows: [1, 2, 3, 4],
      onChunk: (at) => {
        if (at === 1) throw rowsExceeded(70, 60);
      },
    });
    const response = await server.post("/api/v1/sql", {
      query: "SELECT n FROM t",
      format: "ndjson",
    });
    strictEqual(response.status, 200);
    deepStrictEqual((await response.text()).split("\n"), [
      '{"n":1}',
      '{"n":2}',
      '{"_meta":"midflight_rows_scanned_exceeded","rows_scanned":70,"max_rows_scanned":60}',
      "",
    ]);
    strictEqual(await server.metric(TRIPS), 1);
  },
});

Deno.test({
  name: "a table counts once wherever it is named, in the price, the limit and the statistics",
  fn: async () => {
    await using lab = await open();
    const statements: [query: string, scans: number][] = [
      ["SELECT count(*) FROM events a JOIN events b USING (raw)", 2],
      [
        "SELECT raw FROM events UNION ALL SELECT raw FROM events UNION ALL SELECT raw FROM events",
        3,
      ],
      ["WITH c AS (SELECT raw, host FROM events) SELECT count(*) FROM c a JOIN c b USING (raw)", 1],
    ];
    for (const [query, scans] of statements) {
      const refused = await lab.post(query, { limits: { max_rows_scanned: scans * ROWS - 1 } });
      deepStrictEqual([refused.status, (await refused.json()).reason], [400, "max_rows_scanned"]);
      const answer = await lab.post(query, { limits: { max_rows_scanned: scans * ROWS } });
      const { cost, stats } = await answer.json();
      strictEqual(answer.status, 200, query);
      strictEqual(cost.estimated_rows_processed, scans * ROWS, query);
      strictEqual(stats.rows_scanned, scans * ROWS, query);
      strictEqual(stats.scan.planned_rows, scans * ROWS, query);
      strictEqual(stats.bytes_scanned, cost.estimated_bytes_scanned, query);
    }
  },
});

Deno.test({
  name:
    "what a recursion, or a WITH that is not materialized, reads again is counted when it has run",
  fn: async () => {
    await using lab = await open();
    const statements = [
      "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 9 AND " +
      "(SELECT count(raw) FROM events WHERE length(raw) + r.i > 0) > 0) SELECT count(*) FROM r",
      "WITH c AS NOT MATERIALIZED (SELECT raw, host FROM events) " +
      "SELECT count(*) FROM c a JOIN c b USING (raw) JOIN c d USING (raw)",
    ];
    for (const query of statements) {
      const { stats } = await (await lab.post(query)).json();
      ok(stats.rows_scanned >= 3 * ROWS, `${stats.rows_scanned} rows`);
      const body = { limits: { max_rows_scanned: ROWS, max_rows_returned: 10 } };
      const response = await lab.post(query, body);
      const { reason, rows_scanned } = await response.json();
      deepStrictEqual([response.status, reason], [413, "midflight_rows_scanned_exceeded"], query);
      strictEqual(rows_scanned >= stats.rows_scanned, true);
    }
  },
});

Deno.test({
  name: "groups and a sort over exactly the rows allowed are answered, not stopped",
  fn: async () => {
    await using lab = await open();
    const statements = [
      "SELECT raw, count(*) FROM events GROUP BY raw ORDER BY md5(raw)",
      "SELECT DISTINCT raw FROM events",
      "SELECT raw, row_number() OVER (ORDER BY md5(raw)) FROM events",
    ];
    for (const query of statements) {
      const response = await lab.post(query, { limits: { max_rows_scanned: ROWS } });
      strictEqual((await response.json()).row_count, ROWS, query);
    }
  },
});

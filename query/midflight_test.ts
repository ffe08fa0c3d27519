/** Statements that pass preflight and are stopped while they run. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { rowsExceeded } from "../shared/engine/rows_breaker.ts";
import { EngineLab } from "../shared/testing/engine_lab.ts";
import { OPTIONS, type QueryServer, startQuery } from "./mod.ts";
import { startTestServer } from "./testing_server.ts";

const ROWS = 1_000;
const START_NS = 1_790_000_000_000_000_000n;
const TRIPS = 'svc_query_breaker_trips_total{breaker="midflight_rows_scanned"}';

/** A million rows between two steps, of a thousand that are planned: how many the WHERE leaves nobody can tell before. */
const PAIRS = "(SELECT DISTINCT a.raw || b.raw AS pair FROM events a, events b " +
  "WHERE length(a.raw) + length(b.raw) > 0)";

async function open() {
  const lab = await EngineLab.open();
  await lab.commit(
    Array.from({ length: ROWS }, (_, n) => ({ ns: START_NS + BigInt(n), raw: `row ${n}` })),
  );
  const server = await startQuery(parseOptions(OPTIONS, [
    ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
    ...["--data-dir", lab.dir, "--audit-disabled", "--memory-pool-bytes", String(2 ** 29)],
  ]));
  return {
    server,
    post: (query: string, fields: Record<string, unknown> = {}) =>
      fetch(`http://127.0.0.1:${server.address.port}/api/v1/sql`, {
        method: "POST",
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
    const query = `SELECT max(md5(md5(md5(pair)))) FROM ${PAIRS}`;
    const limits = { max_rows_scanned: ROWS };
    const response = await lab.post(query, { limits });
    const body = await response.json();
    deepStrictEqual(
      [response.status, body.code, body.reason, body.max_rows_scanned],
      [413, 413, "midflight_rows_scanned_exceeded", ROWS],
    );
    strictEqual(body.cost.estimated_rows_processed, ROWS, "preflight let it pass");
    ok(body.rows_scanned > 2 * ROWS, `${body.rows_scanned} rows`);
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

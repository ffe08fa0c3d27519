/** Statements of the real engine that are stopped, by the wall clock or by their clients: everything is given back. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { EngineLab } from "../shared/testing/engine_lab.ts";
import { OPTIONS, startQuery } from "./mod.ts";

const THREADS = 2;
/** Three for each thread. */
const CONNECTIONS = 6;
/** Joins, groups and sorts that no limit but the wall clock ends. */
const ENDLESS = [
  "SELECT count(*) FROM range(900000000) a, range(900) b",
  "SELECT max(md5(a.range::VARCHAR || b.range::VARCHAR)) FROM range(100000) a, range(5000000) b",
  "SELECT a.range % 10 AS k, count(*) FROM range(1000000) a, range(500000) b GROUP BY k",
];

async function open(memoryPoolMib = 512) {
  const lab = await EngineLab.open();
  const server = await startQuery(parseOptions(OPTIONS, [
    ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", String(THREADS)],
    ...["--data-dir", lab.dir, "--audit-disabled", "--admission-wait-ms", "30000"],
    ...["--memory-pool-bytes", String(memoryPoolMib * 2 ** 20)],
  ]));
  const url = `http://127.0.0.1:${server.address.port}`;
  const post = (query: string, fields: Record<string, unknown> = {}, init: RequestInit = {}) =>
    fetch(`${url}/api/v1/sql`, {
      method: "POST",
      body: JSON.stringify({ query, ...fields }),
      ...init,
    });
  const metric = async (series: string) => {
    const page = await fetch(`http://127.0.0.1:${server.metricsAddress.port}/metrics`);
    const line = (await page.text()).split("\n").find((line) => line.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  };
  return {
    post,
    metric,
    /** Waits until nothing is in flight, reserved or in line; returns how long that took. */
    async idle(): Promise<number> {
      const startedMs = performance.now();
      for (;;) {
        const report = await (await fetch(`${url}/debug/memory-pool`)).json();
        const { reserved_bytes, waiting } = report.admission;
        const inFlight = await metric("svc_query_in_flight");
        const tookMs = performance.now() - startedMs;
        if (reserved_bytes + waiting + inFlight === 0) return tookMs;
        ok(tookMs < 5_000, JSON.stringify({ report, inFlight }));
      }
    },
    async until(series: string, value: number): Promise<void> {
      const startedMs = performance.now();
      while (await metric(series) !== value) {
        ok(performance.now() - startedMs < 5_000, `${series} never was ${value}`);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await lab[Symbol.asyncDispose]();
    },
  };
}

const endless = (n: number) => ENDLESS[n % ENDLESS.length] ?? "";

Deno.test({
  name: "past the wall clock an endless statement is 504 and its connection free within 100 ms",
  fn: async () => {
    await using server = await open();
    const timeoutMs = 1_000;
    const startedMs = performance.now();
    const running = Array.from({ length: CONNECTIONS }, async (_, n) => {
      const response = await server.post(endless(n), {
        limits: { timeout_seconds: timeoutMs / 1000 },
      });
      return { status: response.status, reason: (await response.json()).reason };
    });
    await server.until("svc_query_in_flight", CONNECTIONS);
    const allHeldMs = performance.now();
    const next = await (await server.post("SELECT 1")).json();
    const servedMs = performance.now();
    deepStrictEqual(next.rows, [[1]]);
    ok(servedMs - startedMs > timeoutMs, "it waited for one of them");
    // The last of them may have begun as late as `allHeldMs`; the first one free is enough.
    ok(
      servedMs - allHeldMs < timeoutMs + 100,
      `served ${servedMs - startedMs - timeoutMs} ms after the first wall clock`,
    );
    for (const end of await Promise.all(running)) {
      deepStrictEqual(end, { status: 504, reason: "timeout" });
    }
    const timeouts = 'svc_query_requests_total{endpoint="sql",outcome="timeout"}';
    strictEqual(await server.metric(timeouts), CONNECTIONS);
    await server.idle();
  },
});

Deno.test({
  name:
    "a client that leaves gives everything back: running, streaming, or in line for either resource",
  fn: async () => {
    const stream = {
      query: "SELECT range FROM range(1000000)",
      fields: { format: "ndjson", limits: { max_rows_returned: 1_000_000 } },
    };
    const cases: {
      readonly name: string;
      readonly poolMib: number;
      readonly clients: number;
      readonly waiting: number;
    }[] = [
      { name: "running", poolMib: 512, clients: 3, waiting: 0 },
      { name: "in line for a connection", poolMib: 512, clients: CONNECTIONS + 4, waiting: 0 },
      { name: "in line for memory", poolMib: 64, clients: CONNECTIONS, waiting: 2 },
    ];
    for (const { name, poolMib, clients, waiting } of cases) {
      await using server = await open(poolMib);
      const leaving = new AbortController();
      const asked = Array.from(
        { length: clients },
        (_, n) => server.post(endless(n), {}, { signal: leaving.signal }).catch(() => undefined),
      );
      await server.until("svc_query_in_flight", clients);
      await server.until("svc_query_admission_waiting", waiting);
      leaving.abort();
      await Promise.all(asked);
      const tookMs = await server.idle();
      ok(tookMs < 1_000, `${name}: ${tookMs} ms`);
      strictEqual(
        await server.metric('svc_query_requests_total{endpoint="sql",outcome="cancelled"}'),
        clients,
        name,
      );
      // All connections and all memory are there again.
      const again = Array.from({ length: CONNECTIONS }, () => server.post("SELECT 42"));
      for (const response of await Promise.all(again)) {
        deepStrictEqual((await response.json()).rows, [[42]], name);
      }
    }
    await using server = await open();
    const response = await server.post(stream.query, stream.fields);
    const reader = response.body?.getReader();
    ok((await reader?.read())?.value !== undefined, "rows came");
    strictEqual(await server.metric("svc_query_in_flight"), 1, "and more would");
    await reader?.cancel();
    ok(await server.idle() < 1_000, "streaming");
  },
});

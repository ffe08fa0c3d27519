/**
 * A query server on free ports over the real engine with two threads and an empty warehouse. For
 * tests.
 */

import { ok } from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { turnsFor } from "../../shared/engine/turns/turns.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { OPTIONS, startQuery } from "../../query/mod.ts";

const THREADS = 2;
/** What can be at work at once. */
export const TURNS = turnsFor(THREADS);

export interface RealServer extends AsyncDisposable {
  readonly port: number;
  /** Where PostgreSQL's protocol is spoken; 0 without `--pg-listen`. */
  readonly pgPort: number;
  post(query: string, fields?: Record<string, unknown>, init?: RequestInit): Promise<Response>;
  metric(series: string): Promise<number>;
  /** Waits until nothing is in flight, reserved or in line; returns how long that took. */
  idle(): Promise<number>;
  until(series: string, value: number): Promise<void>;
  /** Ends it like SIGTERM does. */
  stop(): Promise<void>;
}

export async function startRealServer(flags: readonly string[] = []): Promise<RealServer> {
  const lab = await WarehouseLab.open();
  const server = await startQuery(parseOptions(OPTIONS, [
    ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", String(THREADS)],
    ...["--data-dir", lab.dir, "--audit-disabled", "--memory-pool-bytes", String(512 * 2 ** 20)],
    ...flags,
  ]));
  const url = `http://127.0.0.1:${server.address.port}`;
  const metric = async (series: string) => {
    const page = await fetch(`http://127.0.0.1:${server.metricsAddress.port}/metrics`);
    const line = (await page.text()).split("\n").find((line) => line.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  };
  return {
    port: server.address.port,
    pgPort: server.pgAddress?.port ?? 0,
    metric,
    post: (query, fields = {}, init = {}) =>
      fetch(`${url}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query, ...fields }),
        ...init,
      }),
    async idle() {
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
    async until(series, value) {
      const startedMs = performance.now();
      while (await metric(series) !== value) {
        ok(performance.now() - startedMs < 5_000, `${series} never was ${value}`);
      }
    },
    stop: () => server.stop(),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await lab[Symbol.asyncDispose]();
    },
  };
}

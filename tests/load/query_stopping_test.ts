/**
 * Statements of the real engine that are stopped, by the wall clock or by their clients: everything
 * is given back.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { leastOf } from "../../shared/testing/least_of.ts";
import { PgWireClient } from "../doubles/pg_wire_client.ts";
import { startRealServer, TURNS } from "../apps/real_query_server.ts";

/**
 * Joins, groups and sorts that no limit but the wall clock ends: of how many rows the WHERE leaves
 * nobody can tell before.
 */
const ENDLESS = [
  "SELECT count(*) FROM range(900000000) a, range(900) b WHERE a.range + b.range < 0",
  "SELECT max(md5(a.range::VARCHAR || b.range::VARCHAR)) FROM range(100000) a, range(5000000) b WHERE a.range + b.range >= 0",
  "SELECT a.range % 10 AS k, count(*) FROM range(1000000) a, range(500000) b WHERE a.range + b.range >= 0 GROUP BY k",
];
const endless = (n: number) => ENDLESS[n % ENDLESS.length] ?? "";
/** Dear by its price, and done at once. */
const DEAR = "SELECT count(*) FROM range(5000000)";
const PATIENT = ["--dear-wait-ms", "30000"];

Deno.test({
  name: "past the wall clock an endless statement is 504 and its turn another's within 100 ms",
  fn: async () => {
    await using server = await startRealServer(PATIENT);
    const timeoutMs = 1_000;
    let runs = 0;
    const lateMs = await leastOf(100, async () => {
      runs += 1;
      const startedMs = performance.now();
      const running = Array.from({ length: TURNS.dear }, async (_, n) => {
        const response = await server.post(endless(n), {
          limits: { timeout_seconds: timeoutMs / 1000 },
        });
        return { status: response.status, reason: (await response.json()).reason };
      });
      await server.until("svc_query_in_flight", TURNS.dear);
      const allHeldMs = performance.now();
      const next = await (await server.post(DEAR)).json();
      const servedMs = performance.now();
      deepStrictEqual(next.rows, [[5_000_000]]);
      ok(servedMs - startedMs > timeoutMs, "it waited for one of them");
      for (const end of await Promise.all(running)) {
        deepStrictEqual(end, { status: 504, reason: "timeout" });
      }
      // The last of them may have begun as late as `allHeldMs`; the first one free is enough.
      return servedMs - allHeldMs - timeoutMs;
    });
    ok(lateMs < 100, `served ${lateMs} ms after the first wall clock`);
    const timeouts = 'svc_query_requests_total{endpoint="sql",outcome="timeout"}';
    strictEqual(await server.metric(timeouts), runs * TURNS.dear);
    await server.idle();
  },
});

Deno.test({
  name: "a client that leaves gives everything back: running, in line for a turn, or streaming",
  fn: async () => {
    for (const waiting of [0, 4]) {
      await using server = await startRealServer(PATIENT);
      const clients = TURNS.dear + waiting;
      let left = 0;
      const tookMs = await leastOf(1_000, async () => {
        const leaving = new AbortController();
        const asked = Array.from(
          { length: clients },
          (_, n) => server.post(endless(n), {}, { signal: leaving.signal }).catch(() => undefined),
        );
        await server.until("svc_query_in_flight", clients);
        await server.until('svc_query_engine_waiting{line="dear"}', waiting);
        leaving.abort();
        await Promise.all(asked);
        left += clients;
        return await server.idle();
      });
      ok(tookMs < 1_000, `${waiting} in line: ${tookMs} ms`);
      strictEqual(
        await server.metric('svc_query_requests_total{endpoint="sql",outcome="cancelled"}'),
        left,
      );
      // All turns are there again.
      const again = Array.from({ length: clients }, () => server.post(DEAR));
      for (const response of await Promise.all(again)) {
        deepStrictEqual((await response.json()).rows, [[5_000_000]]);
      }
    }
    await using server = await startRealServer();
    const tookMs = await leastOf(1_000, async () => {
      const response = await server.post("SELECT range FROM range(1000000)", {
        format: "ndjson",
        limits: { max_rows_returned: 1_000_000 },
      });
      const reader = response.body?.getReader();
      ok((await reader?.read())?.value !== undefined, "rows came");
      strictEqual(await server.metric("svc_query_in_flight"), 1, "and more would");
      await reader?.cancel();
      return await server.idle();
    });
    ok(tookMs < 1_000, `streaming: ${tookMs} ms`);
  },
});

Deno.test({
  name: "a stop of the server ends what its time is too short for, and says why by each protocol",
  fn: async () => {
    await using server = await startRealServer(["--pg-listen", "127.0.0.1:0"]);
    using client = await PgWireClient.start(server.pgPort);
    const overPg = client.simple(endless(0));
    const overHttp = server.post(endless(0), { limits: { timeout_seconds: 120 } });
    await server.until("svc_query_in_flight", 2);
    const startedMs = performance.now();
    const stopped = server.stop();
    const { error } = await overPg;
    deepStrictEqual([error?.get("C"), error?.get("S")], ["57P01", "ERROR"]);
    match(error?.get("M") ?? "", /this server is stopping/);
    const response = await overHttp;
    deepStrictEqual([response.status, response.headers.get("retry-after")], [503, "1"]);
    strictEqual((await response.json()).reason, "server_stopping");
    await stopped;
    // systemd's unit gives it 30 s. The protocols' times would be 20 s one after the other.
    ok(performance.now() - startedMs < 18_000);
  },
});

Deno.test({
  name: "an expensive statement that gets no slot is 429 with Retry-After; cheap ones do not wait",
  fn: async () => {
    await using server = await startRealServer(["--dear-wait-ms", "50"]);
    const leaving = new AbortController();
    const running = Array.from(
      { length: TURNS.dear },
      (_, n) => server.post(endless(n), {}, { signal: leaving.signal }).catch(() => undefined),
    );
    await server.until("svc_query_admission_reserved_bytes", TURNS.dear * 16 * 2 ** 20);
    for (const format of ["records", "ndjson"]) {
      const refused = await server.post(DEAR, { format });
      strictEqual(refused.status, 429);
      strictEqual(refused.headers.get("retry-after"), "1");
      strictEqual((await refused.json()).reason, "admission_full");
    }
    strictEqual(
      await server.metric('svc_query_admission_rejected_total{resource="dear_statements"}'),
      2,
    );
    deepStrictEqual((await (await server.post("SELECT 42")).json()).rows, [[42]]);
    const priced = await (await server.post(DEAR, { dry_run: true })).json();
    ok(priced.cost.estimated_runtime_seconds > 0.1);
    leaving.abort();
    await Promise.all(running);
    await server.idle();
  },
});

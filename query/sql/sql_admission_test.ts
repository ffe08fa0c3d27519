/** Admission as a client of the server sees it; who comes when is in admission_ledger_test.ts. */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { startTestServer, type TestServer } from "../../tests/doubles/query_server.ts";

const SQL = "/api/v1/sql";
/** Room for four of the least reservation. */
const FLAGS = ["--memory-pool-bytes", String(64 * 2 ** 20)];
const RESERVED = "svc_query_admission_reserved_bytes";
const WAITING = "svc_query_admission_waiting";

/** A server whose statements run until `release`. */
async function startHeld(options: { readonly waitMs: number; readonly bytes?: number }) {
  const held = Promise.withResolvers<void>();
  const server = await startTestServer({
    rows: [1, 2, 3],
    cost: { estimated_bytes_scanned: options.bytes ?? 300 },
    onChunk: () => held.promise,
  }, [...FLAGS, "--admission-wait-ms", String(options.waitMs)]);
  return { server, release: held.resolve };
}

async function until(server: TestServer, series: string, value: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await server.metric(series) === value) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  strictEqual(await server.metric(series), value, series);
}

const post = async (server: TestServer, fields: Record<string, unknown> = {}, path = SQL) => {
  const response = await server.post(path, { query: "SELECT n FROM t", ...fields });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

Deno.test({
  name:
    "POST /api/v1/sql past the memory budget is 429 after the wait, in both formats, and 200 later",
  fn: async () => {
    const { server, release } = await startHeld({ waitMs: 50 });
    await using _ = server;
    const running = Array.from({ length: 4 }, () => post(server));
    await until(server, RESERVED, 64 * 2 ** 20);
    for (const format of ["records", "ndjson"]) {
      const { status, headers, text } = await post(server, { format });
      deepStrictEqual([status, JSON.parse(text).reason], [429, "admission_full"]);
      strictEqual(headers.get("retry-after"), "1");
    }
    strictEqual(
      await server.metric('svc_query_admission_rejected_total{resource="memory"}'),
      2,
    );
    strictEqual(
      await server.metric('svc_query_requests_total{endpoint="sql",outcome="refused"}'),
      2,
    );
    release();
    deepStrictEqual((await Promise.all(running)).map(({ status }) => status), [200, 200, 200, 200]);
    strictEqual((await post(server)).status, 200);
    await until(server, RESERVED, 0);
    strictEqual(server.engine.open, 0);
  },
});

Deno.test({
  name: "a statement that waits for memory runs when another one ends",
  fn: async () => {
    const { server, release } = await startHeld({ waitMs: 20_000 });
    await using _ = server;
    const running = Array.from(
      { length: 9 },
      (_, n) => post(server, n % 2 === 0 ? {} : { format: "ndjson" }),
    );
    await until(server, WAITING, 5);
    release();
    for (const { status } of await Promise.all(running)) strictEqual(status, 200);
    await until(server, RESERVED, 0);
    strictEqual(await server.metric(WAITING), 0);
  },
});

Deno.test({
  name: "dry_run, explain and a statement that is too dear wait for no memory",
  fn: async () => {
    const { server, release } = await startHeld({ waitMs: 20_000, bytes: 2 ** 30 });
    await using _ = server;
    const running = Array.from({ length: 5 }, () => post(server));
    await until(server, WAITING, 1);
    strictEqual((await post(server, { dry_run: true })).status, 200);
    strictEqual((await post(server, {}, "/api/v1/sql/explain")).status, 200);
    const dear = await post(server, { limits: { max_bytes_scanned: 3 } });
    deepStrictEqual([dear.status, JSON.parse(dear.text).reason], [400, "max_bytes_scanned"]);
    deepStrictEqual([await server.metric(RESERVED), await server.metric(WAITING)], [2 ** 26, 1]);
    release();
    await Promise.all(running);
  },
});

Deno.test({
  name: "a client that leaves while it waits for memory gives its place and the statement back",
  fn: async () => {
    const { server, release } = await startHeld({ waitMs: 20_000 });
    await using _ = server;
    const running = Array.from({ length: 4 }, () => post(server));
    await until(server, RESERVED, 64 * 2 ** 20);
    for (const format of ["records", "ndjson"]) {
      const gone = new AbortController();
      const left = server.post(SQL, { query: "SELECT 1", format }, { signal: gone.signal });
      await until(server, WAITING, 1);
      gone.abort();
      await left.catch(() => {});
      await until(server, WAITING, 0);
    }
    await until(server, 'svc_query_requests_total{endpoint="sql",outcome="cancelled"}', 2);
    strictEqual(server.engine.open, 8, "four prepared, four running");
    release();
    await Promise.all(running);
    await until(server, RESERVED, 0);
  },
});

Deno.test({
  name: "a wall clock that ends while waiting for memory is a timeout, not a full budget",
  fn: async () => {
    const { server, release } = await startHeld({ waitMs: 20_000 });
    await using _ = server;
    const running = Array.from({ length: 4 }, () => post(server));
    await until(server, RESERVED, 64 * 2 ** 20);
    const { status, text } = await post(server, { limits: { timeout_seconds: 0.1 } });
    deepStrictEqual([status, JSON.parse(text).reason], [504, "timeout"]);
    release();
    await Promise.all(running);
  },
});

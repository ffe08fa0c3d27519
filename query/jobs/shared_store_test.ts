/**
 * Two query servers with one job store in a real PostgreSQL: what one does, the other hears of; and
 * the store away.
 */

import assert from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { FakeEngine, onlyAborted } from "../../tests/doubles/fake_engine.ts";
import { OPTIONS, startQuery } from "../mod.ts";

/** So long that only what is told at once comes within a test. */
const POLL_SECS = 3_600;
const TOLD_MS_MAX = 20_000;

interface TwoServers extends AsyncDisposable {
  readonly postgres: PostgresProcess;
  readonly engines: readonly FakeEngine[];
  /** Asks one of the two. */
  ask(at: 0 | 1, method: string, path: string, body?: unknown): Promise<Response>;
}

async function start(): Promise<TwoServers> {
  await using opening = new AsyncDisposableStack();
  const postgres = opening.use(await PostgresProcess.start());
  const uri = await postgres.newDatabase();
  const engines = [0, 1].map(() =>
    new FakeEngine({
      rows: [1],
      onChunk: (_, request) => request.sql === "SELECT 1" ? undefined : onlyAborted(request),
    })
  );
  const urls: string[] = [];
  for (const engine of engines) {
    const dir = await Deno.makeTempDir({ prefix: "svc-jobs-shared-" });
    opening.defer(() => Deno.remove(dir, { recursive: true }));
    const settings = parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--data-dir", dir],
      ...["--jobs-postgres-uri", uri, "--jobs-cancel-poll-secs", String(POLL_SECS)],
    ]);
    const server = opening.use(
      await startQuery(settings, { engine, observer: { completed() {} } }),
    );
    urls.push(`http://127.0.0.1:${server.address.port}/api/v1`);
  }
  const running = opening.move();
  return {
    postgres,
    engines,
    ask: (at, method, path, body) =>
      fetch(`${urls[at]}${path}`, {
        method,
        headers: { "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

Deno.test({
  name: "two servers with one job store in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using servers = await start();
    for (const { name, run } of CASES) await t.step(name, () => run(servers));
  },
});

const CASES: readonly {
  readonly name: string;
  readonly run: (servers: TwoServers) => Promise<void>;
}[] = [{
  name: "a job's end is heard at the other server: by its statement, and by who waits there",
  async run(servers) {
    const [engine] = servers.engines;
    const submission = { query: "SELECT 2", priority: "batch" };
    const { job_id } = await (await servers.ask(0, "POST", "/sql", submission)).json();
    await until(() => engine?.open === 2);
    const waiting = servers.ask(1, "GET", `/jobs/${job_id}?wait_secs=30`);
    await delay(200);
    const startedMs = performance.now();
    assert.equal((await servers.ask(1, "DELETE", `/jobs/${job_id}`)).status, 202);
    assert.equal((await (await waiting).json()).status, "cancelled");
    await until(() => engine?.open === 0);
    assert.ok(performance.now() - startedMs < TOLD_MS_MAX, "not by a poll");
  },
}, {
  name:
    "while the job store is away job routes are 503 with Retry-After 5, and right again after it",
  async run(servers) {
    const submission = { query: "SELECT 1", priority: "batch" };
    const { job_id } = await (await servers.ask(0, "POST", "/sql", submission)).json();
    const done = await servers.ask(1, "GET", `/jobs/${job_id}?wait_secs=30`);
    assert.equal((await done.json()).status, "succeeded");
    await servers.postgres.kill();
    const asked: [string, string, unknown?][] = [
      ["GET", `/jobs/${job_id}`],
      ["GET", `/jobs/${job_id}/result`],
      ["DELETE", `/jobs/${job_id}`],
      ["GET", "/jobs"],
      ["POST", "/sql", submission],
    ];
    for (const [method, path, body] of asked) {
      const response = await servers.ask(0, method, path, body);
      const { reason } = await response.json();
      const answer = [response.status, response.headers.get("retry-after"), reason];
      assert.deepEqual(answer, [503, "5", "job_store_unavailable"], `${method} ${path}`);
    }
    const plain = await servers.ask(0, "POST", "/sql", { query: "SELECT 1" });
    assert.deepEqual([plain.status, (await plain.json()).rows], [200, [[1]]], "others go on");
    await servers.postgres.resume();
    const result = await servers.ask(0, "GET", `/jobs/${job_id}/result`);
    assert.deepEqual([result.status, (await result.json()).rows], [200, [[1]]]);
  },
}];

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 1_000, "not within ten seconds");
    await delay(10);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Every row of the table of docs/api/query.md#verdicts-that-cannot-be-stored, with a store that
 * fails and a fake clock.
 */

import assert from "node:assert/strict";
import type { JobStatus } from "../../shared/catalog/job_states.ts";
import { EXECUTOR_GONE, type JobEnd } from "../../shared/catalog/job_store.ts";
import type { FakeEngineOptions } from "../../tests/doubles/fake_engine.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { onlyAborted } from "../../tests/doubles/fake_engine.ts";
import type { RequestedLimits } from "../limits.ts";
import {
  type Fault,
  JobLab,
  type LabServer,
  LEASE_MS,
  NAMESPACE,
  SHARE_BYTES,
} from "../../tests/jobs/job_lab.ts";
import { RECONCILE_MS, UNPERSISTED_MAX } from "./limits.ts";

type Lab = JobLab<FakeClock>;

const ATTEMPTS_MS_MAX = 30_000;

function test(name: string, fn: (lab: Lab) => Promise<void>): void {
  Deno.test({
    name: `TerminalWrites: ${name}`,
    async fn() {
      await using lab = await JobLab.open(new FakeClock());
      await fn(lab);
    },
  });
}

function finishes(server: LabServer): number {
  return server.calls.filter((call) => call === "finish").length;
}

/** A server none of whose terminal writes lands. */
function cutOff(lab: Lab, options: FakeEngineOptions, fault: Fault = "fail"): LabServer {
  const server = lab.server(options);
  server.fault = (call) => call === "finish" ? fault : undefined;
  return server;
}

const VERDICTS: readonly {
  readonly verdict: JobEnd["verdict"];
  readonly engine: FakeEngineOptions;
  readonly limits?: RequestedLimits;
  /** Until the run has its verdict. */
  readonly runMs: number;
  readonly installed: JobStatus;
  readonly error: RegExp;
}[] = [
  {
    verdict: "succeeded",
    engine: { rows: [1] },
    runMs: 0,
    installed: "failed",
    error:
      /^the job finished but its result could not be stored \(job store unavailable\); the result was discarded, resubmit/,
  },
  {
    verdict: "failed",
    engine: { onPrepare: () => Promise.reject(new Error("no such table")) },
    runMs: 0,
    installed: "failed",
    error: /^the job failed and its error could not be stored .*; resubmit .* to see why$/,
  },
  {
    verdict: "timeout",
    engine: { onChunk: (_, request) => onlyAborted(request) },
    limits: { timeout_seconds: 5 },
    runMs: 6_000,
    installed: "timeout",
    error:
      /^the query exceeded the timeout of 5 s.*; recorded after the job store became reachable again$/,
  },
];

for (const { verdict, engine, limits, runMs, installed, error } of VERDICTS) {
  for (const fault of ["fail", "hang"] as const) {
    test(`${verdict} that cannot be stored (${fault}) is ${installed} later`, async (lab) => {
      const server = cutOff(lab, engine, fault);
      const id = await server.submit("SELECT n FROM t", limits);
      await lab.clock.advance(runMs);
      assert.equal(server.reservedBytes, SHARE_BYTES, "the share is held while it tries");
      await lab.clock.advance(ATTEMPTS_MS_MAX);
      assert.ok(finishes(server) >= 3);
      assert.equal(server.reservedBytes, 0, "the run has ended");
      // Long past the lease: heartbeats go on.
      lab.server();
      await lab.clock.advance(10 * LEASE_MS);
      assert.equal((await lab.job(id))?.status, "running");
      server.fault = () => undefined;
      await lab.clock.advance(2 * RECONCILE_MS);
      const job = await lab.job(id);
      assert.equal(job?.status, installed);
      assert.match(job?.error ?? "", error);
      assert.equal(await lab.store.result(NAMESPACE, id), undefined);
      assert.equal(server.engine.requests.length, 1, "nothing is executed again");
      assert.deepEqual(server.writes.ids, []);
    });
  }
}

test("makes three attempts within 30 s, then one every 5 s", async (lab) => {
  const server = cutOff(lab, { rows: [1] });
  await server.submit();
  const at: number[] = [];
  const startedMs = lab.clock.monotonicMs();
  for (let counted = 0; at.length < 6;) {
    await lab.clock.advance(100);
    for (; counted < finishes(server); counted += 1) at.push(lab.clock.monotonicMs() - startedMs);
  }
  const [first = 0, , third = 0, fourth = 0, fifth = 0, sixth = 0] = at;
  assert.ok(first <= 100 && third <= ATTEMPTS_MS_MAX, at.join());
  assert.deepEqual([fourth - third, fifth - fourth, sixth - fifth], [5_000, 5_000, 5_000]);
});

for (const attempt of [1, 2, 3]) {
  test(`an attempt that lands as number ${attempt} keeps the result`, async (lab) => {
    const server = lab.server({ rows: [7] });
    server.fault = (call) => call === "finish" && finishes(server) < attempt ? "fail" : undefined;
    const id = await server.submit();
    await lab.clock.advance(ATTEMPTS_MS_MAX);
    assert.equal((await lab.job(id))?.status, "succeeded");
    assert.deepEqual(await server.rowsOf(id), [[7]]);
    assert.equal(finishes(server), attempt);
  });
}

test("an attempt that lands without an answer counts as landed", async (lab) => {
  const server = lab.server({ rows: [7] });
  server.fault = (call) => call === "finish" && finishes(server) === 1 ? "lose" : undefined;
  const id = await server.submit();
  await lab.clock.advance(ATTEMPTS_MS_MAX);
  assert.deepEqual(await server.rowsOf(id), [[7]]);
  assert.equal(server.reservedBytes, 0);
});

test("a result that is in the warehouse already is not thrown away", async (lab) => {
  const rows = Array.from({ length: 3 }, () => "x".repeat(2 ** 20));
  const server = cutOff(lab, { rows, chunkRows: 1 });
  const id = await server.submit();
  await until(() => finishes(server) > 0);
  await lab.clock.advance(ATTEMPTS_MS_MAX);
  assert.equal((await lab.job(id))?.status, "running");
  server.fault = () => undefined;
  await lab.clock.advance(RECONCILE_MS);
  assert.equal((await lab.job(id))?.status, "succeeded");
  assert.deepEqual(await server.rowsOf(id), rows.map((row) => [row]));
});

test("a terminal state that won meanwhile stands", async (lab) => {
  const server = cutOff(lab, { rows: [1] });
  const id = await server.submit();
  await lab.clock.advance(ATTEMPTS_MS_MAX);
  await lab.server().jobs.cancel(NAMESPACE, id);
  const cancelled = await lab.job(id);
  server.fault = () => undefined;
  await lab.clock.advance(2 * RECONCILE_MS);
  assert.deepEqual(await lab.job(id), cancelled);
  assert.deepEqual(server.writes.ids, [], "and is not tried again");
});

test("an executor that tracks 1,024 refuses the next, which a peer fails by its lease", async (lab) => {
  const server = cutOff(lab, { rows: [1] });
  const nothing = { cost: undefined, progress: undefined };
  for (let n = 0; n < UNPERSISTED_MAX; n += 1) {
    const id = `tracked-${n}`;
    const job = { id, namespace: NAMESPACE, query: "SELECT 1", owner: server.name };
    if (n < 3) await lab.store.submit({ ...job, leaseMs: LEASE_MS });
    server.writes.defer(id, { ...nothing, verdict: "failed", error: "lost" });
  }
  const id = await server.submit();
  await lab.clock.advance(ATTEMPTS_MS_MAX);
  assert.equal(server.writes.ids.length, UNPERSISTED_MAX);
  assert.ok(!server.writes.ids.includes(id));
  assert.equal(server.reservedBytes, 0);
  assert.equal((await lab.job(id))?.status, "running");
  lab.server();
  await lab.clock.advance(2 * LEASE_MS);
  const job = await lab.job(id);
  assert.equal(job?.status, "failed");
  assert.ok(job?.error?.startsWith(EXECUTOR_GONE));
  assert.equal((await lab.job("tracked-0"))?.status, "pending", "its lease is renewed");
  server.fault = () => undefined;
  await lab.clock.advance(2 * RECONCILE_MS);
  assert.equal((await lab.job("tracked-0"))?.error, "lost");
  assert.deepEqual(server.writes.ids, []);
});

test("a job that cannot begin runs nothing and says so", async (lab) => {
  const server = lab.server({ rows: [1] });
  server.fault = (call) => call === "publish" || call === "finish" ? "fail" : undefined;
  const id = await server.submit();
  await lab.clock.advance(ATTEMPTS_MS_MAX);
  assert.equal(server.reservedBytes, 0);
  server.fault = () => undefined;
  await lab.clock.advance(2 * RECONCILE_MS);
  const job = await lab.job(id);
  assert.equal(job?.status, "failed");
  assert.match(job?.error ?? "", /^the job could not begin .* nothing ran; resubmit/);
  assert.equal(server.engine.requests.length, 0);
});

test("a submission whose answer was lost is no job that hangs", async (lab) => {
  const server = lab.server({ rows: [1] });
  server.fault = (call) => call === "submit" ? "lose" : undefined;
  await assert.rejects(server.submit(), /the connection broke/);
  assert.equal(server.reservedBytes, 0);
  await lab.clock.advance(2 * RECONCILE_MS);
  const [job] = await server.jobs.list(NAMESPACE, { max: 10, queryLengthMax: 100 });
  assert.equal(job?.status, "failed");
  assert.match(job?.error ?? "", /^the job was not accepted/);
  assert.equal(server.engine.requests.length, 0);
});

test("a server that stops ends its jobs at once, and says why", async (lab) => {
  const server = lab.server({ onChunk: (_, request) => onlyAborted(request) });
  const ids = [await server.submit(), await server.submit()];
  await lab.clock.advance(0);
  const stopped = server.executor[Symbol.asyncDispose]();
  await lab.clock.advance(0);
  await stopped;
  for (const id of ids) {
    assert.match((await lab.job(id))?.error ?? "", /^batch executor gone: its server was stopped/);
  }
  assert.equal(server.reservedBytes, 0);
  await assert.rejects(server.submit(), /the server is stopping/);
});

test("a server that stops while the store is away waits no longer than an attempt or two", async (lab) => {
  const server = cutOff(lab, { rows: [1] }, "hang");
  const id = await server.submit();
  await lab.clock.advance(1_000);
  let isStopped = false;
  const stopped = server.executor[Symbol.asyncDispose]().then(() => isStopped = true);
  await lab.clock.advance(20_000);
  assert.ok(isStopped);
  await stopped;
  assert.equal((await lab.job(id))?.status, "running");
});

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 2_000, "not within twenty seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

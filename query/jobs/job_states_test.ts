/**
 * Every row of the transitions of docs/api/query.md#states-of-a-job, through the parts that a
 * server is made of, with a fake clock.
 */

import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import type { JobStatus } from "../../shared/catalog/job_states.ts";
import { COMPUTED_TOO_LATE, EXECUTOR_GONE } from "../../shared/catalog/job_store.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { onlyAborted } from "../../tests/doubles/fake_engine.ts";
import {
  ADMISSION_WAIT_MS,
  BUDGET_BYTES,
  CANCEL_POLL_MS,
  JobLab,
  type LabServer,
  LEASE_MS,
  NAMESPACE,
  OWNERLESS_GRACE_MS,
  SHARE_BYTES,
} from "../../tests/jobs/job_lab.ts";
import { JOB_TTL_MS } from "./limits.ts";

type Lab = JobLab<FakeClock>;

/** A server whose statements run until they are told to stop, or let go. */
function held(lab: Lab): { server: LabServer; letGo: () => void } {
  const gate = Promise.withResolvers<void>();
  const server = lab.server({
    rows: [1, 2],
    onChunk: (_, request) => Promise.race([gate.promise, onlyAborted(request)]),
  });
  return { server, letGo: gate.resolve };
}

async function statusOf(lab: Lab, id: string): Promise<JobStatus | undefined> {
  return (await lab.job(id))?.status;
}

function isRefused(code: "conflict" | "rate_limited" | "not_found") {
  return (error: unknown) => isOperatingError(error, code);
}

function test(name: string, fn: (lab: Lab) => Promise<void>): void {
  Deno.test({
    name: `jobs: ${name}`,
    async fn() {
      await using lab = await JobLab.open(new FakeClock());
      await fn(lab);
    },
  });
}

test("submitted with budget: pending, with one share until it ends", async (lab) => {
  const { server, letGo } = held(lab);
  const publish = Promise.withResolvers<undefined>();
  server.fault = (call) => call === "publish" ? publish.promise : undefined;
  const id = await server.submit();
  assert.equal(await statusOf(lab, id), "pending");
  assert.equal(server.reservedBytes, SHARE_BYTES);
  publish.resolve(undefined);
  await lab.clock.advance(0);
  assert.equal(await statusOf(lab, id), "running");
  assert.equal(server.reservedBytes, SHARE_BYTES);
  letGo();
  await lab.clock.advance(0);
  assert.equal(await statusOf(lab, id), "succeeded");
  assert.equal(server.reservedBytes, 0);
});

test("submitted while the budget stays full: 429 after the wait, and no job", async (lab) => {
  const { server } = held(lab);
  for (let n = 0; n < BUDGET_BYTES / SHARE_BYTES; n += 1) await server.submit();
  const refused = assert.rejects(server.submit(), (error) => {
    assert.ok(isOperatingError(error, "rate_limited") && error.retryAfterSecs !== undefined);
    return true;
  });
  await lab.clock.advance(ADMISSION_WAIT_MS);
  await refused;
  assert.equal((await server.jobs.list(NAMESPACE, { max: 10, queryLengthMax: 100 })).length, 4);
  assert.equal(server.reservedBytes, BUDGET_BYTES);
});

test("submitted while the budget is full for less than the wait: accepted", async (lab) => {
  const { server } = held(lab);
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) ids.push(await server.submit());
  const fifth = server.submit();
  await lab.clock.advance(ADMISSION_WAIT_MS / 2);
  await server.jobs.cancel(NAMESPACE, ids[0] ?? "");
  await lab.clock.advance(0);
  assert.equal(await statusOf(lab, await fifth), "running");
});

/** Who wins against an executor that is about to begin, and what a client then sees. */
const WINNERS: readonly {
  readonly name: string;
  readonly win: (lab: Lab, id: string) => Promise<void>;
  readonly status: JobStatus | undefined;
  readonly error?: RegExp;
}[] = [
  {
    name: "a cancellation",
    win: async (lab, id) => void await lab.store.cancel(NAMESPACE, id),
    status: "cancelled",
    error: /^cancelled by request$/,
  },
  {
    name: "recovery",
    win: async (lab, id) => {
      await lab.store.renew("server-1", [id], 0); // Its lease has run out.
      await lab.server().sweeps.recover();
    },
    status: "failed",
    error: /^batch executor gone: its server server-1 has not renewed its lease/,
  },
  {
    name: "removal after its time",
    win: async (lab, id) => {
      await lab.store.cancel(NAMESPACE, id);
      await lab.store.expire({ ageMsMin: 0, max: 10 });
    },
    status: undefined,
  },
];

for (const { name, win, status, error } of WINNERS) {
  test(`publication refused because ${name} won: nothing is planned or written`, async (lab) => {
    const { server } = held(lab);
    const publish = Promise.withResolvers<undefined>();
    server.fault = (call) => {
      if (call === "publish") return publish.promise;
      return call === "renew" || call === "report" ? "fail" : undefined;
    };
    const id = await server.submit();
    await win(lab, id);
    const before = await lab.job(id);
    assert.equal(before?.status, status);
    publish.resolve(undefined);
    await lab.clock.advance(60_000);
    assert.deepEqual(await lab.job(id), before);
    if (error !== undefined) assert.match(before?.error ?? "", error);
    assert.equal(server.engine.requests.length, 0, "nothing was planned");
    assert.ok(!server.calls.includes("finish"), "no terminal write");
    assert.equal(server.reservedBytes, 0);
    assert.deepEqual(server.records, []);
  });
}

for (const phase of ["pending", "running"] as const) {
  test(`DELETE of a ${phase} job here: cancelled at once, the work stops, its end is refused`, async (lab) => {
    const { server } = held(lab);
    const publish = Promise.withResolvers<undefined>();
    if (phase === "pending") {
      server.fault = (call) => call === "publish" ? publish.promise : undefined;
    }
    const id = await server.submit();
    if (phase === "running") await lab.clock.advance(0);
    assert.equal(await statusOf(lab, id), phase);
    await server.jobs.cancel(NAMESPACE, id);
    assert.equal(await statusOf(lab, id), "cancelled");
    publish.resolve(undefined);
    await lab.clock.advance(0);
    assert.equal(server.engine.open, 0, "the statement was given back");
    assert.equal(server.reservedBytes, 0);
    assert.equal(await statusOf(lab, id), "cancelled");
    await assert.rejects(server.jobs.cancel(NAMESPACE, id), isRefused("conflict"));
    await assert.rejects(server.jobs.result(NAMESPACE, id), isRefused("conflict"));
  });
}

test("DELETE at another server: cancelled at once, the work stops at the next poll", async (lab) => {
  const { server } = held(lab);
  const id = await server.submit();
  await lab.clock.advance(0);
  await lab.server().jobs.cancel(NAMESPACE, id);
  assert.equal(await statusOf(lab, id), "cancelled");
  assert.equal(server.reservedBytes, SHARE_BYTES);
  await lab.clock.advance(CANCEL_POLL_MS);
  assert.equal(server.engine.open, 0);
  assert.equal(server.reservedBytes, 0);
  assert.deepEqual(server.records.map(({ status, priority }) => [status, priority]), [
    [499, "batch"],
  ]);
});

test("a run that finishes after its cancellation has its result discarded", async (lab) => {
  const { server, letGo } = held(lab);
  server.fault = (call) => call === "report" ? "fail" : undefined;
  const id = await server.submit();
  await lab.clock.advance(0);
  await lab.server().jobs.cancel(NAMESPACE, id);
  letGo();
  await lab.clock.advance(0);
  assert.equal(await statusOf(lab, id), "cancelled");
  assert.equal(await lab.store.result(NAMESPACE, id), undefined);
  assert.equal(server.reservedBytes, 0);
});

test("a run that finishes with rows: succeeded, and the rows are stored", async (lab) => {
  const server = lab.server({ rows: [1, "a\n,", null] });
  const id = await server.submit();
  await lab.clock.advance(0);
  assert.equal(await statusOf(lab, id), "succeeded");
  assert.deepEqual(await server.rowsOf(id), [[1], ["a\n,"], [null]]);
  assert.deepEqual(server.records.map(({ status, rowsReturned }) => [status, rowsReturned]), [
    [200, 3],
  ]);
});

test("a result that is asked for while its job ends: it has not ended, or it is whole", async (lab) => {
  const { server, letGo } = held(lab);
  const id = await server.submit();
  await lab.clock.advance(0);
  const reader = lab.server();
  let reads = 0;
  reader.fault = async (call) => {
    if (call !== "job" && call !== "result") return undefined;
    reads += 1;
    if (reads === 2) {
      letGo();
      await lab.clock.advance(0);
      assert.equal(await statusOf(lab, id), "succeeded");
    }
    return undefined;
  };
  await assert.rejects(reader.jobs.result(NAMESPACE, id), isRefused("not_found"));
  assert.deepEqual(await reader.rowsOf(id), [[1], [2]]);
  assert.ok(reads >= 2);
});

test("jobs of one millisecond are listed in the order in which they came", async (lab) => {
  const server = lab.server();
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) ids.unshift(await server.submit());
  const listed = await server.jobs.list(NAMESPACE, { max: 10, queryLengthMax: 100 });
  assert.deepEqual(listed.map(({ id }) => id), ids);
});

test("a run whose rows are cut at the batch cap: succeeded, truncated, with its cap", async (lab) => {
  const server = lab.server({ rows: [1, 2, 3, 4] });
  const id = await server.submit("SELECT n FROM t", { max_rows_returned: 3 });
  await lab.clock.advance(0);
  const { head, rows, tail } = await server.jobs.result(NAMESPACE, id);
  const body = JSON.parse(`${head}${rows}${tail}`);
  assert.deepEqual([body.row_count, body.rows, body.truncated, body.max_rows], [
    3,
    [[1], [2], [3]],
    true,
    3,
  ]);
  assert.deepEqual(server.records.map(({ status, truncated }) => [status, truncated]), [[
    200,
    true,
  ]]);
});

test("execution that fails: failed, with what the engine said", async (lab) => {
  const server = lab.server({
    rows: [1],
    onChunk: () => Promise.reject(new Error("never shown")),
  });
  const id = await server.submit();
  await lab.clock.advance(0);
  const job = await lab.job(id);
  assert.deepEqual([job?.status, job?.error], [
    "failed",
    "the server failed on this request: see its log",
  ]);
  await assert.rejects(server.jobs.result(NAMESPACE, id), isRefused("conflict"));
});

test("result storage that fails: failed, and nothing is left of it", async (lab) => {
  const rows = Array.from({ length: 40 }, () => "x".repeat(2 ** 20));
  const server = lab.server({ rows, chunkRows: 1 });
  let puts = 0;
  server.partFault = () => (puts += 1) === 2 ? "fail" : undefined;
  const id = await server.submit();
  await until(async () => await statusOf(lab, id) === "failed");
  assert.equal((await lab.job(id))?.error, "the store is away");
  assert.equal(puts, 2);
  await until(() => Promise.resolve(server.reservedBytes === 0));
});

test("a statement past its wall clock: timeout, with the time in its error", async (lab) => {
  const { server } = held(lab);
  const id = await server.submit("SELECT n FROM t", { timeout_seconds: 90 });
  await lab.clock.advance(89_000);
  assert.equal(await statusOf(lab, id), "running");
  await lab.clock.advance(2_000);
  const job = await lab.job(id);
  assert.equal(job?.status, "timeout");
  assert.match(job?.error ?? "", /^the query exceeded the timeout of 90 s/);
  assert.equal(server.engine.open, 0);
  assert.equal(server.reservedBytes, 0);
});

test("the wall clock of a job is an hour, and six at most", async (lab) => {
  const { server } = held(lab);
  const id = await server.submit();
  await server.submit("SELECT 1", { timeout_seconds: 1e9 });
  await lab.clock.advance(3_599_000);
  assert.equal(await statusOf(lab, id), "running");
  await lab.clock.advance(2_000);
  assert.equal(await statusOf(lab, id), "timeout");
  assert.deepEqual(server.engine.requests.map(({ deadlineMs }) => deadlineMs), [
    3_600_000,
    6 * 3_600_000,
  ]);
});

for (const phase of ["pending", "running"] as const) {
  test(`a ${phase} job whose server was killed: failed by a peer once its lease ran out`, async (lab) => {
    const { server } = held(lab);
    if (phase === "pending") server.fault = (call) => call === "publish" ? "hang" : undefined;
    const id = await server.submit();
    await lab.clock.advance(0);
    server.kill();
    const peer = lab.server();
    await lab.clock.advance(LEASE_MS - 1_000);
    assert.equal(await statusOf(lab, id), phase);
    await lab.clock.advance(LEASE_MS / 3 + 1_000);
    const job = await lab.job(id);
    assert.equal(job?.status, "failed");
    assert.ok(job?.error?.startsWith(EXECUTOR_GONE), job?.error);
    assert.equal(peer.engine.requests.length, 0, "nothing is executed again");
  });
}

test("heartbeats keep a job for as long as its server lives", async (lab) => {
  const { server, letGo } = held(lab);
  lab.server();
  const id = await server.submit();
  await lab.clock.advance(10 * LEASE_MS);
  assert.equal(await statusOf(lab, id), "running");
  const beats = server.calls.filter((call) => call === "renew").length;
  assert.equal(beats, 30, "three for each lease");
  letGo();
  await lab.clock.advance(0);
  assert.equal(await statusOf(lab, id), "succeeded");
});

test("a heartbeat after a peer found the lease run out prevents the job's end", async (lab) => {
  const { server } = held(lab);
  server.fault = (call) => call === "renew" ? "fail" : undefined;
  const id = await server.submit();
  await lab.clock.advance(LEASE_MS - 1);
  const peer = lab.server();
  await lab.clock.advance(0); // Its first look finds nothing.
  const found = Promise.withResolvers<undefined>();
  peer.fault = (call) => call === "condemn" ? found.promise : undefined;
  await lab.clock.advance(1);
  const recovery = peer.sweeps.recover();
  await lab.clock.advance(0);
  assert.ok(peer.calls.includes("condemn"));
  await lab.store.renew(server.name, [id], LEASE_MS);
  found.resolve(undefined);
  await recovery;
  assert.equal(await statusOf(lab, id), "running");
});

test("a job without an owner: failed after the grace", async (lab) => {
  const job = { namespace: NAMESPACE, query: "SELECT 1", owner: undefined, leaseMs: LEASE_MS };
  await lab.store.submit({ ...job, id: "j" });
  lab.server();
  await lab.clock.advance(OWNERLESS_GRACE_MS - 1_000);
  assert.equal(await statusOf(lab, "j"), "pending");
  await lab.clock.advance(LEASE_MS);
  assert.match((await lab.job("j"))?.error ?? "", /^batch executor gone: no server had taken/);
});

test("a result that comes after recovery: discarded, and the error says so", async (lab) => {
  const { server, letGo } = held(lab);
  const id = await server.submit();
  await lab.clock.advance(0);
  // The process is stopped: it neither writes nor hears.
  const frozen = Promise.withResolvers<undefined>();
  server.fault = () => frozen.promise;
  lab.server();
  await lab.clock.advance(2 * LEASE_MS);
  const condemned = await lab.job(id);
  assert.equal(condemned?.status, "failed");
  server.fault = (call) => call === "report" || call === "renew" ? "hang" : undefined;
  letGo();
  await lab.clock.advance(0);
  const job = await lab.job(id);
  assert.deepEqual([job?.status, job?.error], [
    "failed",
    `${condemned?.error}; ${COMPUTED_TOO_LATE}`,
  ]);
  assert.equal(await lab.store.result(NAMESPACE, id), undefined);
  assert.equal(server.reservedBytes, 0);
});

const ENDS: Readonly<Record<string, (lab: Lab) => Promise<{ server: LabServer; id: string }>>> = {
  succeeded: async (lab) => {
    const server = lab.server({ rows: [1] });
    return { server, id: await server.submit() };
  },
  failed: async (lab) => {
    const server = lab.server({ onPrepare: () => Promise.reject(new Error("no table")) });
    return { server, id: await server.submit() };
  },
  cancelled: async (lab) => {
    const { server } = held(lab);
    const id = await server.submit();
    await server.jobs.cancel(NAMESPACE, id);
    return { server, id };
  },
  timeout: async (lab) => {
    const { server } = held(lab);
    const id = await server.submit("SELECT 1", { timeout_seconds: 1 });
    await lab.clock.advance(2_000);
    return { server, id };
  },
};

for (const [status, bring] of Object.entries(ENDS)) {
  test(`a job that is ${status} stays so: DELETE is 409, as any other end`, async (lab) => {
    const { server, id } = await bring(lab);
    await lab.clock.advance(0);
    const before = await lab.job(id);
    assert.equal(before?.status, status);
    await assert.rejects(server.jobs.cancel(NAMESPACE, id), isRefused("conflict"));
    await lab.clock.advance(3 * LEASE_MS);
    assert.deepEqual(await lab.job(id), before);
  });

  test(`a job that is ${status} is there for a day, and then unknown`, async (lab) => {
    const { server, id } = await bring(lab);
    await lab.clock.advance(0);
    await lab.clock.advance(JOB_TTL_MS - 60_000);
    assert.equal((await server.jobs.job(NAMESPACE, id)).status, status);
    await lab.clock.advance(180_000);
    await assert.rejects(server.jobs.job(NAMESPACE, id), isRefused("not_found"));
    await assert.rejects(server.jobs.result(NAMESPACE, id), isRefused("not_found"));
    await assert.rejects(server.jobs.cancel(NAMESPACE, id), isRefused("not_found"));
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !await condition(); tries += 1) {
    assert.ok(tries < 2_000, "not within twenty seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

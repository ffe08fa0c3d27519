/**
 * What every `JobStore` must do: cases for a fresh store. A lease of 0 ms has run out as soon as it
 * is given; one of an hour does not within a test.
 */

import assert from "node:assert/strict";
import {
  JOB_STATUSES,
  JOB_TRANSITIONS,
  type JobStatus,
  type JobTransitionName,
  OPEN_STATUSES,
} from "../catalog/job_states.ts";
import {
  COMPUTED_TOO_LATE,
  EXECUTOR_GONE,
  type JobEnd,
  type JobStore,
  type StoredResult,
} from "../catalog/job_store.ts";

export interface JobHandles {
  readonly store: JobStore;
  /** Another process on the same store. */
  readonly other: JobStore;
}

export interface JobCase {
  readonly name: string;
  run(handles: JobHandles): Promise<void>;
}

const ACME = "acme";
const OWNER = "owner-1";
const PEER = "owner-2";
const HOUR_MS = 3_600_000;
const RAN_OUT = 0;
const NO_GRACE = 0;
const GONE = `${EXECUTOR_GONE} its lease ran out`;

const RESULT: StoredResult = {
  head: '{"columns":["n"],"row_count":2,"rows":[',
  rows: '[1],["\\u0000é\u{1f600}"]',
  tail: "]}",
  parts: 0,
};

const NOTHING_MEASURED = { cost: undefined, progress: undefined };

function ended(verdict: "succeeded" | "failed" | "timeout", error = "no such table"): JobEnd {
  return verdict === "succeeded"
    ? { ...NOTHING_MEASURED, verdict, result: RESULT }
    : { ...NOTHING_MEASURED, verdict, error };
}

/** How a test takes a job through each transition; whether it took. */
const DO: Readonly<
  Record<JobTransitionName, (store: JobStore, id: string, to: JobStatus) => Promise<boolean>>
> = {
  submit: async (store, id) => {
    await submit(store, id);
    return (await store.job(ACME, id))?.status === "pending";
  },
  publish: (store, id) => store.publish(id, OWNER, HOUR_MS),
  finish: (store, id, to) => store.finish(id, OWNER, ended(to as "succeeded" | "failed")),
  cancel: async (store, id) => (await store.cancel(ACME, id))?.done ?? false,
  condemn: async (store, id) => {
    await store.renew(OWNER, [id], RAN_OUT);
    return await store.condemn(id, { error: GONE, ownerlessGraceMs: HOUR_MS });
  },
};

/** Takes a new job to `status`. */
async function bring(store: JobStore, id: string, status: JobStatus): Promise<void> {
  await submit(store, id);
  if (status !== "pending") assert.ok(await DO.publish(store, id, "running"));
  if (status === "cancelled") assert.ok(await DO.cancel(store, id, status));
  else if (!(OPEN_STATUSES as readonly string[]).includes(status)) {
    assert.ok(await DO.finish(store, id, status));
  }
}

function submit(store: JobStore, id: string): Promise<void> {
  const query = `SELECT '${id}'`;
  return store.submit({ id, namespace: ACME, query, owner: OWNER, leaseMs: HOUR_MS });
}

async function statusOf(store: JobStore, id: string): Promise<JobStatus | undefined> {
  return (await store.job(ACME, id))?.status;
}

/** Every transition from every state: those of the table take, all others change nothing. */
function transitionCases(): JobCase[] {
  const names = Object.keys(JOB_TRANSITIONS) as JobTransitionName[];
  return names.filter((name) => name !== "submit").flatMap((name) =>
    JOB_STATUSES.flatMap((from) =>
      JOB_TRANSITIONS[name].to.map((to): JobCase => {
        const takes = (JOB_TRANSITIONS[name].from as readonly JobStatus[]).includes(from);
        // What an owner does twice because it did not hear of the first time.
        const repeats = name === "finish" && from === to;
        return {
          name: `${name} to ${to} ${takes ? "takes" : "does not change"} a job that is ${from}`,
          async run({ store, other }) {
            await bring(store, "j", from);
            const before = await other.job(ACME, "j");
            assert.equal(await DO[name](store, "j", to), takes || repeats);
            const after = await other.job(ACME, "j");
            assert.equal(after?.status, takes ? to : from);
            if (!takes) assert.deepEqual(after, before);
          },
        };
      })
    )
  );
}

export const JOB_CASES: readonly JobCase[] = [
  ...transitionCases(),
  {
    name: "a job is its tenant's alone, to read, cancel and list",
    async run({ store }) {
      await bring(store, "j", "succeeded");
      await submit(store, "k");
      for (const id of ["j", "k"]) {
        assert.equal(await store.job("rival", id), undefined);
        assert.equal(await store.result("rival", id), undefined);
        assert.equal(await store.cancel("rival", id), undefined);
      }
      assert.deepEqual(await store.jobs("rival", { max: 10, queryLengthMax: 100 }), []);
      assert.equal(await statusOf(store, "k"), "pending");
    },
  },
  {
    name: "job tells times, price, progress and error, and the newest come first",
    async run({ store, other }) {
      for (const id of ["a", "b", "c"]) await submit(store, id);
      assert.ok(await store.publish("b", OWNER, HOUR_MS));
      const report = { id: "b", cost: '{"n":1}', progress: { rows: 2 ** 40, percent: 12.5 } };
      assert.deepEqual(await store.report(OWNER, [report]), new Set(["b"]));
      assert.ok(await store.finish("b", OWNER, ended("failed", "a\0b".padEnd(5_000, "x"))));
      const job = await other.job(ACME, "b");
      assert.ok(job?.startedMs !== undefined && job.endedMs !== undefined);
      assert.ok(job.submittedMs <= job.startedMs && job.startedMs <= job.endedMs);
      assert.deepEqual([job.cost, job.progress], [report.cost, report.progress]);
      assert.match(job.error ?? "", /^a\\0bx{3000,}$/);
      const listed = async (before?: string) =>
        (await other.jobs(ACME, { max: 2, queryLengthMax: 9, before }))
          .map(({ id, query, cost }) => [id, query, cost]);
      assert.deepEqual(await listed(), [["c", "SELECT 'c", undefined], [
        "b",
        "SELECT 'b",
        '{"n":1}',
      ]]);
      assert.deepEqual(await listed("b"), [["a", "SELECT 'a", undefined]]);
    },
  },
  {
    name: "finish stores result and verdict together, and once",
    async run({ store, other }) {
      await bring(store, "j", "running");
      assert.equal(await other.result(ACME, "j"), undefined);
      const measured = { cost: '{"n":2}', progress: { rows: 7, percent: undefined } };
      const end: JobEnd = { ...ended("succeeded"), ...measured };
      assert.ok(await store.finish("j", OWNER, end));
      assert.deepEqual(await other.result(ACME, "j"), RESULT);
      assert.ok(await store.finish("j", OWNER, end), "its answer may have been lost");
      assert.equal(await store.finish("j", OWNER, ended("failed")), false);
      assert.equal(await store.finish("j", PEER, end), false);
      const job = await other.job(ACME, "j");
      assert.deepEqual([job?.cost, job?.progress], [measured.cost, measured.progress]);
    },
  },
  {
    name: "a result that a store keeps elsewhere has parts and no rows",
    async run({ store, other }) {
      await bring(store, "j", "running");
      const result = { head: "[", tail: "]", rows: undefined, parts: 3 };
      assert.ok(
        await store.finish("j", OWNER, { ...NOTHING_MEASURED, verdict: "succeeded", result }),
      );
      assert.deepEqual(await other.result(ACME, "j"), result);
    },
  },
  {
    name: "only its owner begins and ends a job, reports on it and renews its lease",
    async run({ store, other }) {
      await submit(store, "j");
      assert.equal(await other.publish("j", PEER, HOUR_MS), false);
      assert.equal(await other.finish("j", PEER, ended("failed")), false);
      assert.deepEqual(await other.renew(PEER, ["j"], HOUR_MS), new Set());
      const progress = { rows: 1, percent: 1 };
      assert.deepEqual(await other.report(PEER, [{ id: "j", cost: "{}", progress }]), new Set());
      assert.equal(await statusOf(store, "j"), "pending");
      assert.deepEqual(await store.renew(OWNER, ["j", "k"], HOUR_MS), new Set(["j"]));
      await store.cancel(ACME, "j");
      assert.deepEqual(await store.renew(OWNER, ["j"], HOUR_MS), new Set());
      assert.deepEqual(await store.report(OWNER, [{ id: "j", cost: "{}", progress }]), new Set());
    },
  },
  {
    name: "submit and publish that are repeated change nothing",
    async run({ store }) {
      await submit(store, "j");
      assert.ok(await store.publish("j", OWNER, HOUR_MS));
      const first = await store.job(ACME, "j");
      await submit(store, "j");
      assert.ok(await store.publish("j", OWNER, HOUR_MS));
      assert.deepEqual(await store.job(ACME, "j"), first);
    },
  },
  {
    name: "a lease that holds keeps a job from being condemned, one that ran out does not",
    async run({ store, other }) {
      await bring(store, "j", "running");
      const options = { error: GONE, ownerlessGraceMs: NO_GRACE };
      assert.deepEqual(await other.abandoned({ ownerlessGraceMs: NO_GRACE, max: 10 }), []);
      assert.equal(await other.condemn("j", options), false);
      await store.renew(OWNER, ["j"], RAN_OUT);
      const [found] = await other.abandoned({ ownerlessGraceMs: NO_GRACE, max: 10 });
      assert.deepEqual([found?.id, found?.owner], ["j", OWNER]);
      assert.ok(await other.condemn("j", options));
      const job = await store.job(ACME, "j");
      assert.deepEqual([job?.status, job?.error], ["failed", GONE]);
    },
  },
  {
    name: "a lease that is renewed after the job was found abandoned prevents its end",
    async run({ store, other }) {
      await bring(store, "j", "running");
      await store.renew(OWNER, ["j"], RAN_OUT);
      assert.equal((await other.abandoned({ ownerlessGraceMs: HOUR_MS, max: 10 })).length, 1);
      assert.deepEqual(await store.renew(OWNER, ["j"], HOUR_MS), new Set(["j"]));
      assert.equal(await other.condemn("j", { error: GONE, ownerlessGraceMs: NO_GRACE }), false);
      assert.equal(await statusOf(store, "j"), "running");
    },
  },
  {
    name: "a job without an owner is abandoned after its grace, and begins with an owner",
    async run({ store, other }) {
      for (const id of ["j", "k"]) {
        await store.submit({ id, namespace: ACME, query: "", owner: undefined, leaseMs: RAN_OUT });
      }
      const error = { error: GONE, ownerlessGraceMs: HOUR_MS };
      assert.deepEqual(await other.abandoned({ ownerlessGraceMs: HOUR_MS, max: 10 }), []);
      assert.equal(await other.condemn("k", error), false);
      const found = await other.abandoned({ ownerlessGraceMs: NO_GRACE, max: 10 });
      assert.deepEqual(found.map(({ id }) => id), ["j", "k"]);
      assert.ok(found.every(({ owner }) => owner === undefined));
      assert.ok(await store.publish("j", OWNER, HOUR_MS));
      assert.equal(await other.condemn("j", { ...error, ownerlessGraceMs: NO_GRACE }), false);
      assert.ok(await other.condemn("k", { ...error, ownerlessGraceMs: NO_GRACE }));
      assert.equal(await store.publish("k", OWNER, HOUR_MS), false);
    },
  },
  {
    name: "a result that comes after the job was condemned is told in its error, once",
    async run({ store, other }) {
      await bring(store, "j", "running");
      await store.renew(OWNER, ["j"], RAN_OUT);
      assert.ok(await other.condemn("j", { error: GONE, ownerlessGraceMs: HOUR_MS }));
      assert.equal(await store.finish("j", OWNER, ended("timeout")), false);
      assert.equal((await other.job(ACME, "j"))?.error, GONE);
      for (let times = 0; times < 2; times += 1) {
        assert.equal(await store.finish("j", OWNER, ended("succeeded")), false);
      }
      const job = await other.job(ACME, "j");
      assert.deepEqual([job?.status, job?.error], ["failed", `${GONE}; ${COMPUTED_TOO_LATE}`]);
      assert.equal(await other.result(ACME, "j"), undefined);
    },
  },
  {
    name: "expire removes jobs that ended long enough ago, with their results, and no open one",
    async run({ store, other }) {
      for (const id of ["a", "b"]) await bring(store, id, "succeeded");
      await bring(store, "c", "running");
      assert.deepEqual(await other.expire({ ageMsMin: HOUR_MS, max: 10 }), []);
      assert.deepEqual(await other.expire({ ageMsMin: 0, max: 1 }), ["a"]);
      assert.equal(await store.job(ACME, "a"), undefined);
      assert.equal(await store.result(ACME, "a"), undefined);
      assert.deepEqual(await store.result(ACME, "b"), RESULT);
      assert.equal(await store.publish("a", OWNER, HOUR_MS), false);
      assert.equal(await store.finish("a", OWNER, ended("failed")), false);
      assert.deepEqual(await other.expire({ ageMsMin: 0, max: 10 }), ["b"]);
      assert.deepEqual(await store.known(["a", "b", "c", "d"]), new Set(["c"]));
    },
  },
  {
    name:
      "trim removes the oldest ended jobs past a tenant's room, with their results, and no open one",
    async run({ store, other }) {
      await bring(store, "a", "running");
      for (const id of ["b", "c", "d", "e"]) await bring(store, id, "succeeded");
      const others = { namespace: "other", query: "SELECT 1", owner: OWNER, leaseMs: HOUR_MS };
      for (const id of ["0", "1"]) await store.submit({ ...others, id });
      assert.deepEqual(await other.trim({ keptMax: 5, max: 10 }), []);
      assert.deepEqual(await other.trim({ keptMax: 4, max: 10 }), [], "the oldest is open");
      assert.deepEqual(await other.trim({ keptMax: 2, max: 1 }), ["b"]);
      assert.deepEqual(await other.trim({ keptMax: 2, max: 10 }), ["c"]);
      assert.deepEqual(await other.trim({ keptMax: 2, max: 10 }), []);
      assert.equal(await store.result(ACME, "b"), undefined);
      assert.deepEqual(await store.result(ACME, "d"), RESULT);
      const left = await store.known(["0", "1", "a", "b", "c", "d", "e"]);
      assert.deepEqual(left, new Set(["0", "1", "a", "d", "e"]));
    },
  },
  {
    name: "of ends that race exactly one stands",
    async run({ store, other }) {
      for (let round = 0; round < 20; round += 1) {
        const id = `j${round}`;
        await bring(store, id, "running");
        await store.renew(OWNER, [id], RAN_OUT);
        const [finished, cancelled, condemned] = await Promise.all([
          store.finish(id, OWNER, ended("succeeded")),
          other.cancel(ACME, id).then((answer) => answer?.done),
          other.condemn(id, { error: GONE, ownerlessGraceMs: HOUR_MS }),
        ]);
        const won = { succeeded: finished, cancelled, failed: condemned };
        const winners = Object.entries(won).filter(([, did]) => did).map(([status]) => status);
        assert.deepEqual(winners, [await statusOf(store, id)]);
        assert.equal(await store.result(ACME, id) !== undefined, finished);
      }
    },
  },
];

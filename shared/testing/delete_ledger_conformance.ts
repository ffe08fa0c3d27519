/**
 * What every `DeleteLedger` must do, together with the catalog whose commits it fences: cases for a
 * fresh catalog. A lease of 0 ms has run out as soon as it is given; one of an hour does not within
 * a test.
 */

import assert from "node:assert/strict";
import type { Catalog, CommitOutcome } from "../catalog/catalog.ts";
import {
  type DeleteLedger,
  type DeleteTask,
  type NewDeleteTask,
  NO_PROGRESS,
} from "../catalog/delete_ledger.ts";

export interface LedgerHandles {
  readonly ledger: DeleteLedger;
  /** A second executor on the same catalog. */
  readonly other: DeleteLedger;
  readonly catalog: Catalog;
}

export interface LedgerCase {
  readonly name: string;
  run(handles: LedgerHandles): Promise<void>;
}

const EVENTS = { namespace: "svc", name: "events" };
const HOUR_MS = 3_600_000;
const RAN_OUT = 0;
const ATTEMPTS_MAX = 3;
const MANY = 100;
/** What is left of an hour's claim when the clock is set back by nine. */
const TAKEN_AHEAD = 10 * HOUR_MS;

export const LEDGER_CASES: readonly LedgerCase[] = [
  {
    name: "a task is recorded as it was given, and pending",
    async run({ ledger, other }) {
      const task = newTask("t1", { startNs: -5n, endNs: 9_223_372_036_854_775_807n });
      const recorded = await ledger.submit(task, MANY);
      assert(recorded !== undefined);
      const { createdMs, ageMs, ...rest } = recorded;
      assert(createdMs > 1_600_000_000_000);
      assert(ageMs < 60_000);
      assert.deepEqual(rest, {
        ...task,
        status: "pending",
        startedMs: undefined,
        endedMs: undefined,
        attempts: 0,
        progress: NO_PROGRESS,
        rowsDeleted: 0,
        filesRewritten: 0,
        error: undefined,
        claim: undefined,
        awaited: undefined,
      });
      const found = await other.find("svc", "t1");
      assert(found !== undefined && found.ageMs < 60_000);
      assert.deepEqual({ ...found, ageMs }, recorded);
      assert.deepEqual(idsOf(await other.claimable(MANY)), ["t1"]);
      assert.equal(await other.find("acme", "t1"), undefined, "another tenant's");
      assert.equal(await other.find("svc", "t2"), undefined);
    },
  },
  {
    name: "open bounds, an unknown table and any text are kept",
    async run({ ledger }) {
      const task = newTask("t1", {
        tableUuid: undefined,
        startNs: undefined,
        endNs: undefined,
        predicate: "raw = 'it''s $1 ?2 \"x\"'\n-- end",
        epoch: 3,
      });
      const { predicate, tableUuid, startNs, endNs, epoch } = await submitted(ledger, task);
      assert.deepEqual({ predicate, tableUuid, startNs, endNs, epoch }, {
        predicate: task.predicate,
        tableUuid: undefined,
        startNs: undefined,
        endNs: undefined,
        epoch: 3,
      });
    },
  },
  {
    name: "lists are a namespace's own, newest first, and bounded",
    async run({ ledger }) {
      for (const id of ["t1", "t2", "t3"]) await submitted(ledger, newTask(id));
      await submitted(ledger, newTask("t4", { ident: { namespace: "acme", name: "events" } }));
      assert.deepEqual(idsOf(await ledger.list("svc", MANY)), ["t3", "t2", "t1"]);
      assert.deepEqual(idsOf(await ledger.list("svc", 2)), ["t3", "t2"]);
      assert.deepEqual(idsOf(await ledger.list("acme", MANY)), ["t4"]);
      assert.deepEqual(await ledger.unfinished(), { pending: 4, running: 0 });
    },
  },
  {
    name: "a namespace has a bounded number of tasks that have not ended",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      await submitted(ledger, newTask("t2"));
      assert.equal(await ledger.submit(newTask("t3"), 2), undefined);
      assert.equal(await ledger.find("svc", "t3"), undefined);
      const acme = newTask("t3", { ident: { namespace: "acme", name: "events" } });
      assert.notEqual(await ledger.submit(acme, 2), undefined);
      await claimed(ledger, "t1", "a");
      assert.equal(await ledger.submit(newTask("t4"), 2), undefined, "running is not ended");
      assert.equal(await ledger.finishEmpty("a"), true);
      assert.notEqual(await ledger.submit(newTask("t4"), 2), undefined);
    },
  },
  {
    name: "what a task waits for is recorded once",
    async run({ ledger, other }) {
      await submitted(ledger, newTask("t1"));
      assert.deepEqual(await ledger.awaitSegments("t1", ["s1", "s2"]), ["s1", "s2"]);
      assert.deepEqual(await other.awaitSegments("t1", ["s3"]), ["s1", "s2"]);
      assert.deepEqual((await other.find("svc", "t1"))?.awaited, ["s1", "s2"]);
      await submitted(ledger, newTask("t2"));
      assert.deepEqual(await ledger.awaitSegments("t2", []), []);
      assert.deepEqual(await other.awaitSegments("t2", ["s3"]), []);
    },
  },
  {
    name: "a task goes to one claimant at a time",
    async run({ ledger, other }) {
      await submitted(ledger, newTask("t1"));
      for (let round = 0; round < 20; round += 1) {
        const both = await Promise.all([
          claim(ledger, "t1", `a${round}`),
          claim(other, "t1", `b${round}`),
        ]);
        const winner = both.find((task) => task !== undefined);
        assert.equal(both.filter((task) => task !== undefined).length, 1);
        assert.equal(winner?.status, "running");
        assert.equal(winner.attempts, 1);
        assert(winner.startedMs !== undefined);
        assert.equal(await claim(other, "t1", `c${round}`), undefined);
        const token = both[0] === undefined ? `b${round}` : `a${round}`;
        assert.equal(winner.claim?.claimant, `claimant of ${token}`);
        assert.deepEqual(await ledger.claimable(MANY), []);
        assert.equal(await release(ledger, token), true);
        assert.equal((await ledger.find("svc", "t1"))?.status, "pending");
      }
    },
  },
  {
    name: "two tasks of one table are not worked on at once, those of two tables are",
    async run({ ledger, other }) {
      await submitted(ledger, newTask("t1"));
      await submitted(ledger, newTask("t2"));
      await submitted(ledger, newTask("t3", { ident: { namespace: "svc", name: "traces" } }));
      await submitted(ledger, newTask("t4", { ident: { namespace: "acme", name: "events" } }));
      await claimed(ledger, "t1", "a");
      assert.equal(await claim(other, "t2", "b"), undefined);
      await claimed(other, "t3", "c");
      await claimed(other, "t4", "d");
      assert.equal(await ledger.finishEmpty("a"), true);
      await claimed(other, "t2", "e");
    },
  },
  {
    name: "tasks can be claimed by namespaces in turn, and in one by tables in turn, oldest first",
    async run({ ledger }) {
      const traces = { namespace: "svc", name: "traces" };
      const acme = { namespace: "acme", name: "events" };
      for (const id of ["t1", "t2", "t3"]) await submitted(ledger, newTask(id));
      await submitted(ledger, newTask("t4", { ident: traces }));
      await submitted(ledger, newTask("t5", { ident: acme }));
      await submitted(ledger, newTask("t6", { ident: acme }));
      const all = ["t1", "t5", "t4", "t6", "t2", "t3"];
      assert.deepEqual(idsOf(await ledger.claimable(MANY)), all);
      assert.deepEqual(idsOf(await ledger.claimable(3)), all.slice(0, 3));
    },
  },
  {
    name: "progress shows while a claim holds, and begins anew with the next",
    async run({ ledger, other }) {
      await submitted(ledger, newTask("t1"));
      await claimed(ledger, "t1", "a");
      const progress = { filesTotal: 7, filesDone: 3, rowsMatched: 5_000_000_000 };
      assert.equal(await ledger.renew("a", { leaseMs: HOUR_MS, progress }), true);
      const seen = await other.find("svc", "t1");
      assert.deepEqual(seen?.progress, progress);
      assert.equal(seen?.rowsDeleted, 0);
      assert.equal(await ledger.renew("a", { leaseMs: RAN_OUT, progress }), true);
      assert.equal(await ledger.renew("a", { leaseMs: HOUR_MS, progress }), false, "ran out");
      assert.deepEqual((await claimed(other, "t1", "b")).progress, NO_PROGRESS);
    },
  },
  {
    name: "a lease that ran out is free, and its holder can do nothing any more",
    async run({ ledger, other, catalog }) {
      await submitted(ledger, newTask("t1"));
      await claimed(ledger, "t1", "a", RAN_OUT);
      assert.equal((await ledger.claimable(MANY)).length, 1);
      assert.equal((await claimed(other, "t1", "b")).attempts, 2);
      assert.equal(await ledger.finishEmpty("a"), false);
      assert.equal(await ledger.fail("a", "no"), false);
      assert.equal(await release(ledger, "a"), false);
      assert.equal(await commit(catalog, { taskId: "t1", token: "a" }), "claim_lost");
      assert.equal(await catalog.metadataLocation(EVENTS), undefined);
      assert.equal((await ledger.find("svc", "t1"))?.status, "running");
    },
  },
  {
    name: "a task that was claimed before the clock was set back is free, as is its table",
    async run({ ledger, other }) {
      await submitted(ledger, newTask("t1"));
      await submitted(ledger, newTask("t2"));
      await claimed(ledger, "t1", "a", TAKEN_AHEAD);
      assert.equal((await ledger.claimable(MANY)).length, 2);
      await claimed(other, "t2", "b");
      assert.equal(await claim(other, "t1", "c"), undefined, "t2 of its table is worked on");
      assert.equal(await other.finishEmpty("b"), true);
      await claimed(other, "t1", "c");
      assert.equal(await ledger.finishEmpty("a"), false);
    },
  },
  {
    name: "a commit ends its task in the same transaction, with its numbers",
    async run({ ledger, catalog }) {
      await submitted(ledger, newTask("t1"));
      await claimed(ledger, "t1", "a");
      assert.equal(await commit(catalog, { taskId: "t2", token: "a" }), "claim_lost");
      assert.equal(await commit(catalog, { taskId: "t1", token: "a" }, "other"), "conflict");
      assert.equal((await ledger.find("svc", "t1"))?.status, "running");
      assert.equal(await commit(catalog, { taskId: "t1", token: "a" }), "committed");
      assert.equal(await catalog.metadataLocation(EVENTS), "m1");
      const task = await ledger.find("svc", "t1");
      assert.equal(task?.status, "done");
      assert.equal(task?.rowsDeleted, 5_000_000_000);
      assert.equal(task?.filesRewritten, 2);
      assert.equal(task?.claim, undefined);
      assert(task?.endedMs !== undefined && task.endedMs >= (task.startedMs ?? 0));
      assert.equal(await commit(catalog, { taskId: "t1", token: "a" }, "m1"), "claim_lost");
      assert.equal(await claim(ledger, "t1", "b"), undefined, "done is for ever");
      assert.deepEqual(await ledger.claimable(MANY), []);
    },
  },
  {
    name: "a lease that ran out under its commit stops it",
    async run({ ledger, catalog }) {
      await submitted(ledger, newTask("t1"));
      await claimed(ledger, "t1", "a", RAN_OUT);
      assert.equal(await commit(catalog, { taskId: "t1", token: "a" }), "claim_lost");
      assert.equal(await catalog.metadataLocation(EVENTS), undefined);
    },
  },
  {
    name: "a failed attempt is followed by another, until they are used up",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        assert.equal((await claimed(ledger, "t1", `a${attempt}`)).attempts, attempt);
        assert.equal(await release(ledger, `a${attempt}`, `it's bad ${attempt}`), true);
        const task = await ledger.find("svc", "t1");
        assert.equal(task?.error, `it's bad ${attempt}`);
        assert.equal(task?.status, attempt < ATTEMPTS_MAX ? "pending" : "failed");
      }
      assert.equal(await claim(ledger, "t1", "b"), undefined);
      assert.notEqual((await ledger.find("svc", "t1"))?.endedMs, undefined);
    },
  },
  {
    name: "the next attempt waits as long as the last one said",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      await claimed(ledger, "t1", "a");
      assert.equal(
        await ledger.release("a", { error: "busy", delayMs: HOUR_MS, attemptsMax: ATTEMPTS_MAX }),
        true,
      );
      assert.deepEqual(await ledger.claimable(MANY), []);
      assert.equal(await claim(ledger, "t1", "b"), undefined);
      await submitted(ledger, newTask("t2"));
      await claimed(ledger, "t2", "c");
    },
  },
  {
    name: "an attempt that was stopped does not count",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      for (let attempt = 0; attempt < 2 * ATTEMPTS_MAX; attempt += 1) {
        await claimed(ledger, "t1", `a${attempt}`);
        assert.equal(await release(ledger, `a${attempt}`), true);
      }
      assert.equal((await ledger.find("svc", "t1"))?.attempts, 0);
    },
  },
  {
    name: "attempts that end without a word are used up, too",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
        await claimed(ledger, "t1", `a${attempt}`, RAN_OUT);
      }
      assert.equal(await claim(ledger, "t1", "b"), undefined);
      const task = await ledger.find("svc", "t1");
      assert.equal(task?.status, "failed");
      assert.match(task?.error ?? "", /^3 attempts ended without a word/);
    },
  },
  {
    name: "what cannot succeed fails at once",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      await claimed(ledger, "t1", "a");
      assert.equal(await ledger.fail("a", "the index was dropped"), true);
      const task = await ledger.find("svc", "t1");
      assert.deepEqual([task?.status, task?.error], ["failed", "the index was dropped"]);
      assert.deepEqual(await ledger.unfinished(), { pending: 0, running: 0 });
    },
  },
  {
    name: "ended tasks are forgotten after a while, others never",
    async run({ ledger }) {
      await submitted(ledger, newTask("t1"));
      await submitted(ledger, newTask("t2"));
      await claimed(ledger, "t1", "a");
      await ledger.finishEmpty("a");
      assert.equal(await ledger.forgetEnded(HOUR_MS), 0);
      assert.equal(await ledger.forgetEnded(0), 1);
      assert.deepEqual(idsOf(await ledger.list("svc", MANY)), ["t2"]);
    },
  },
];

function newTask(taskId: string, fields: Partial<NewDeleteTask> = {}): NewDeleteTask {
  return {
    taskId,
    ident: EVENTS,
    tableUuid: "uuid",
    epoch: 0,
    predicate: "host = 'h'",
    startNs: 1n,
    endNs: 2n,
    ...fields,
  };
}

async function submitted(ledger: DeleteLedger, task: NewDeleteTask): Promise<DeleteTask> {
  const recorded = await ledger.submit(task, MANY);
  assert(recorded !== undefined);
  return recorded;
}

function claim(
  ledger: DeleteLedger,
  taskId: string,
  token: string,
  leaseMs = HOUR_MS,
): Promise<DeleteTask | undefined> {
  const claimant = `claimant of ${token}`;
  return ledger.claim({ taskId, claimant, token, leaseMs, attemptsMax: ATTEMPTS_MAX });
}

async function claimed(
  ledger: DeleteLedger,
  taskId: string,
  token: string,
  leaseMs = HOUR_MS,
): Promise<DeleteTask> {
  const task = await claim(ledger, taskId, token, leaseMs);
  assert(task !== undefined, `${taskId} is claimed`);
  return task;
}

function release(ledger: DeleteLedger, token: string, error?: string): Promise<boolean> {
  const options = { delayMs: 0, attemptsMax: ATTEMPTS_MAX };
  return ledger.release(token, error === undefined ? options : { ...options, error });
}

function commit(
  catalog: Catalog,
  claim: { readonly taskId: string; readonly token: string },
  expected?: string,
): Promise<CommitOutcome> {
  return catalog.commit({
    ident: EVENTS,
    expected,
    next: "m1",
    tableUuid: "uuid",
    snapshotId: 7n,
    consumed: [],
    deletes: { ...claim, rowsDeleted: 5_000_000_000, filesRewritten: 2 },
  });
}

function idsOf(tasks: readonly DeleteTask[]): string[] {
  return tasks.map(({ taskId }) => taskId);
}

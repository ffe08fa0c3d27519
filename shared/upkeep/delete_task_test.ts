/**
 * Delete tasks against a plain model: what goes, what stays, who may, and what every failure
 * leaves.
 */

import assert from "node:assert/strict";
import type { DeleteTask } from "../catalog/delete_ledger.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import type { RowMatcher } from "../engine/predicate/row_matcher.ts";
import { commitRewrite } from "../iceberg/commit_rewrite.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import {
  DAY_START_NS,
  DeleteLab,
  EVENTS,
  nsOf,
  numbersFrom,
  numbersOfFile,
} from "../testing/delete_lab.ts";
import { FaultPlan, faultsOf } from "../testing/fault_plan.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { parsePromotion } from "../schema/promoted.ts";
import { DataFileWriter } from "../tables/data_file_writer.ts";
import { applyMigration } from "../tables/migrate.ts";
import { sweepDeleteTasks } from "./delete_loop.ts";
import { type DeleteTaskDeps, runDeleteTask } from "./delete_task.ts";
import { readParquet } from "../parquet/read_parquet.ts";

const FOREVER_MS = 3_600_000;

/** Predicates and what they say of row `n`; null counts as false. */
const PREDICATES: readonly (readonly [string, (n: number) => boolean])[] = [
  ["true", () => true],
  ["false", () => false],
  ["host = 'h3'", (n) => n % 5 === 3],
  ["host IN ('h0', 'h1') OR raw = '7'", (n) => n % 5 < 2 || n === 7],
  ["attr_get(attributes, 'odd') = 'yes'", (n) => n % 2 === 1],
  // Null for rows without attributes: those stay.
  ["attr_get(attributes, 'odd') <> 'yes'", () => false],
  ["NOT (attributes IS NULL)", (n) => n % 2 === 1],
  ["timestamp < TIMESTAMPTZ '2026-11-20 00:00:10Z'", (n) => n < 10],
  ["timestamp_ns % 3000000000 = 0", (n) => (Number(DAY_START_NS / 1_000_000_000n) + n) % 3 === 0],
  ["events.raw LIKE '%1'", (n) => n % 10 === 1],
  ["match_any(raw, '5 6')", (n) => n === 5 || n === 6],
];

Deno.test({
  name: "a delete task takes out just the rows that its predicate and its times name",
  async fn() {
    const random = new SeededRandom(7);
    await using lab = await DeleteLab.open();
    for (const [predicate, isDeleted] of PREDICATES) {
      const ident = { namespace: "svc", name: `t${random.below(1_000_000)}` };
      const model: number[] = [];
      for (let file = 0; file < 4; file += 1) {
        const numbers = numbersFrom(file * 30, 20 + random.below(30));
        model.push(...numbers);
        await lab.commit(numbers, ident);
      }
      const start = random.below(60);
      const end = start + 1 + random.below(80);
      const isOpen = random.below(2) === 0;
      const task = await lab.submit(predicate.replace("events.", `${ident.name}.`), {
        ident,
        ...(isOpen ? {} : { startNs: nsOf(start), endNs: nsOf(end) }),
      });
      const outcomes = await sweepDeleteTasks(lab.deps);
      assert.equal(outcomes.get(task.taskId), "done", predicate);
      const goes = (n: number) => isDeleted(n) && (isOpen || (n >= start && n < end));
      const kept = model.filter((n) => !goes(n)).sort((a, b) => a - b);
      assert.deepEqual(await lab.numbers(ident), kept, `${predicate} [${start}, ${end})`);
      const { status, rowsDeleted, attempts } = await lab.task(task);
      assert.deepEqual([status, rowsDeleted, attempts], ["done", model.length - kept.length, 1]);
    }
  },
});

Deno.test({
  name: "a delete task by a promoted column takes out rows of files from before the column, too",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit(numbersFrom(0, 20));
    await applyMigration(lab.deps, EVENTS, [parsePromotion("odd:string")]);
    const task = await lab.submit("odd = 'yes'");
    const outcomes = await sweepDeleteTasks(lab.deps);
    assert.equal(outcomes.get(task.taskId), "done");
    assert.deepEqual(await lab.numbers(), numbersFrom(0, 20).filter((n) => n % 2 === 0));
  },
});

Deno.test({
  name:
    "a delete task leaves files without such rows as they are, and writes the others as the drain does",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    await lab.commit([4, 5, 6, 7, 8]);
    await lab.commit([5]);
    const [first, second, third] = await lab.liveFiles();
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const task = await lab.submit("raw = '5'");
    await sweepDeleteTasks(lab.deps);
    const { rowsDeleted, filesRewritten, progress } = await lab.task(task);
    assert.deepEqual([rowsDeleted, filesRewritten], [2, 2]);
    assert.equal(progress.rowsMatched <= 2, true);
    const [kept, rewritten, ...none] = await lab.liveFiles();
    assert.deepEqual(none, []);
    assert.equal(kept?.key, first.key);
    assert.ok(rewritten !== undefined);
    assert.deepEqual(
      await numbersOfFile(lab.store, rewritten.key),
      [4, 6, 7, 8],
      "in order of time",
    );
    assert.deepEqual(
      [rewritten.rows, rewritten.timestampNsMin, rewritten.timestampNsMax, rewritten.sortOrderId],
      [4, nsOf(4), nsOf(8), second.sortOrderId],
    );
    assert.deepEqual(await columnsOf(lab, rewritten.key), await columnsOf(lab, second.key));
    await lab.store.head(sidecarKey(rewritten.key));
    const [snapshot] = (await lab.load())?.metadata.snapshots.slice(-1) ?? [];
    assert.equal(snapshot?.summary?.["svc.delete-task"], task.taskId);
    assert.equal(snapshot?.summary?.["deleted-records"], "6");
    assert.equal(snapshot?.summary?.["total-records"], "7");
  },
});

async function columnsOf(lab: DeleteLab, key: string): Promise<unknown> {
  for await (const batch of readParquet(await lab.store.get(key), key)) return batch.schema.columns;
  return undefined;
}

Deno.test({
  name: "a delete task is one commit, also over several days, and one that finds nothing is none",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit(numbersFrom(0, 5, true));
    await lab.commit(numbersFrom(1, 5, true));
    const before = (await lab.load())?.metadata.snapshots.length ?? 0;
    await lab.submit("CAST(raw AS BIGINT) % 86400 = 1");
    await sweepDeleteTasks(lab.deps);
    assert.equal((await lab.load())?.metadata.snapshots.length, before + 1);
    assert.deepEqual(await lab.numbers(), numbersFrom(0, 5, true));
    const nothing = await lab.submit("raw = 'none'");
    await sweepDeleteTasks(lab.deps);
    assert.equal((await lab.load())?.metadata.snapshots.length, before + 1);
    assert.equal((await lab.task(nothing)).status, "done");
  },
});

Deno.test({
  name: "a predicate that fails on a row fails the task, says why and changes nothing",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const task = await lab.submit("CAST(host AS BIGINT) = 1");
    assert.equal((await sweepDeleteTasks(lab.deps)).get(task.taskId), "failed");
    const { status, error } = await lab.task(task);
    assert.equal(status, "failed");
    assert.match(error ?? "", /h[123]/);
    assert.doesNotMatch(error ?? "", /parquet|scratch|LINE|svc_row_position/);
    assert.deepEqual(await lab.numbers(), [1, 2, 3]);
  },
});

Deno.test({
  name: "a predicate that somebody wrote into the ledger is judged again",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    for (const predicate of ["true) OR (true", "raw IN (SELECT raw FROM events)", "random() > 2"]) {
      const task = await lab.submit(predicate);
      assert.equal((await sweepDeleteTasks(lab.deps)).get(task.taskId), "failed");
    }
    assert.deepEqual(await lab.numbers(), [1, 2, 3]);
  },
});

Deno.test({
  name: "a task of the audit that somebody wrote into the ledger fails and deletes nothing",
  async fn() {
    await using lab = await DeleteLab.open();
    const ident = { namespace: "svc", name: "query_audit" };
    await lab.commit([1, 2, 3], ident);
    const { uuid: tableUuid } = await lab.load(ident) ?? {};
    const task = await lab.submit("true", { ident, tableUuid });
    assert.equal((await sweepDeleteTasks(lab.deps)).get(task.taskId), "failed");
    assert.match((await lab.task(task)).error ?? "", /query_audit records what was asked/);
    assert.deepEqual(await lab.numbers(ident), [1, 2, 3]);
  },
});

Deno.test({
  name: "a task of an index that was dropped fails, whether or not it was made again",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const task = await lab.submit("true");
    await lab.catalog.dropTable(EVENTS);
    assert.equal((await sweepDeleteTasks(lab.deps)).get(task.taskId), "failed");
    await lab.commit([4, 5]);
    const second = await lab.submit("true", { tableUuid: (await lab.task(task)).tableUuid });
    assert.equal((await sweepDeleteTasks(lab.deps)).get(second.taskId), "failed");
    assert.match((await lab.task(second)).error ?? "", /was dropped after the task was accepted/);
    assert.deepEqual(await lab.numbers(), [4, 5]);
  },
});

Deno.test({
  name: "an index that is dropped and made again between the plan and the commit is spared",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const task = await lab.submit("true");
    let matched = 0;
    const deps = withMatcher(lab, async (match) => {
      const rows = await match();
      if (matched++ === 0) {
        await lab.catalog.dropTable(EVENTS);
        await lab.commit([4, 5]);
      }
      return rows;
    });
    assert.equal(await runDeleteTask(deps, task), "failed");
    assert.deepEqual(await lab.numbers(), [4, 5]);
  },
});

Deno.test({
  name:
    "a task of an index without rows is done at once, one that was dropped since it was accepted fails",
  async fn() {
    await using lab = await DeleteLab.open();
    const task = await lab.submit("true");
    await sweepDeleteTasks(lab.deps);
    assert.equal((await lab.task(task)).status, "done");
    const ident = { namespace: "svc", name: "orders" };
    const earlier = await lab.submit("true", { ident, epoch: 3 });
    await lab.commit([1], ident);
    assert.equal((await sweepDeleteTasks(lab.deps)).get(earlier.taskId), "failed");
    assert.deepEqual(await lab.numbers(ident), [1]);
  },
});

Deno.test({
  name: "two executors share the tasks: each is carried out once",
  async fn() {
    await using lab = await DeleteLab.open();
    const idents = ["a", "b", "c"].map((name) => ({ namespace: "svc", name }));
    const tasks: DeleteTask[] = [];
    for (const ident of idents) {
      await lab.commit(numbersFrom(0, 50), ident);
      tasks.push(await lab.submit("CAST(raw AS BIGINT) < 10", { ident }));
      tasks.push(await lab.submit("CAST(raw AS BIGINT) < 20", { ident }));
    }
    for (let round = 0; round < 5; round += 1) {
      const reports = await Promise.all([
        sweepDeleteTasks({ ...lab.deps, claimant: "one" }),
        sweepDeleteTasks({ ...lab.deps, claimant: "two" }),
      ]);
      if (reports.every((outcomes) => outcomes.size === 0)) break;
    }
    for (const task of tasks) {
      const { status, rowsDeleted } = await lab.task(task);
      assert.deepEqual([status, rowsDeleted], ["done", 10], task.predicate);
    }
    for (const ident of idents) {
      assert.deepEqual(await lab.numbers(ident), numbersFrom(20, 30));
    }
  },
});

Deno.test({
  name: "an executor that was paused past its lease commits nothing, and another one has done it",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit(numbersFrom(0, 10));
    const task = await lab.submit("CAST(raw AS BIGINT) < 4");
    let isPaused = false;
    const paused = withMatcher(lab, async (match) => {
      const rows = await match();
      if (!isPaused) {
        isPaused = true;
        lab.clock.shift(FOREVER_MS);
        assert.equal(await runDeleteTask(lab.deps, task), "done");
      }
      return rows;
    });
    assert.equal(await runDeleteTask({ ...paused, claimant: "paused" }, task), "lost");
    assert.deepEqual(await lab.numbers(), numbersFrom(4, 6));
    const { rowsDeleted, attempts } = await lab.task(task);
    assert.deepEqual([rowsDeleted, attempts], [4, 2]);
    await assertNoStrays(lab);
  },
});

Deno.test({
  name:
    "a merge that comes first costs a look at its files, not the task; rows that came meanwhile stay",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    await lab.commit([4, 5, 6]);
    const task = await lab.submit("raw IN ('2', '5')");
    let matches = 0;
    const deps = withMatcher(lab, async (match) => {
      const rows = await match();
      matches += 1;
      if (matches === 2) await mergeAll(lab);
      return rows;
    });
    assert.equal(await runDeleteTask(deps, task), "done");
    assert.equal(matches, 3, "two files, then the one that they became");
    assert.deepEqual(await lab.numbers(), [1, 3, 4, 6]);
    assert.deepEqual((await lab.task(task)).rowsDeleted, 2);
    await assertNoStrays(lab);
  },
});

Deno.test({
  name: "an attempt that fails is followed by another, and the last one fails the task",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const task = await lab.submit("raw = '1'");
    const deps = { ...lab.deps, policy: { retryMs: 0, attemptsMax: 3 } };
    const down = { ...deps, matcher: () => Promise.resolve(failing) };
    assert.equal((await sweepDeleteTasks(down)).get(task.taskId), "retried");
    const waiting = await lab.task(task);
    assert.deepEqual([waiting.status, waiting.error, waiting.attempts], ["pending", "down", 1]);
    assert.equal((await sweepDeleteTasks(deps)).get(task.taskId), "done");
    assert.equal((await lab.task(task)).error, undefined);

    const second = await lab.submit("raw = '2'");
    for (const outcome of ["retried", "retried", "failed"]) {
      assert.equal((await sweepDeleteTasks(down)).get(second.taskId), outcome);
    }
    assert.equal((await lab.task(second)).status, "failed");
    assert.deepEqual(await lab.numbers(), [2, 3]);
  },
});

Deno.test({
  name: "a task that is stopped is given back at once, its attempt not counted",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    await lab.commit([4, 5, 6]);
    const task = await lab.submit("raw = '1'");
    const stop = new AbortController();
    const deps = withMatcher(lab, async (match) => {
      const rows = await match();
      stop.abort(new Error("stopped"));
      return rows;
    });
    await assert.rejects(runDeleteTask(deps, task, stop.signal), /stopped/);
    const { status, attempts, claim } = await lab.task(task);
    assert.deepEqual([status, attempts, claim], ["pending", 0, undefined]);
    assert.equal(await runDeleteTask(lab.deps, task), "done");
  },
});

/**
 * Each operation of a whole task fails once, before or after it took effect, alone or with all that
 * follow.
 */
const FAULTS_RUN = Number(Deno.env.get("SVC_TEST_DELETE_FAULTS") ?? 12);

Deno.test({
  name:
    "a crash at any step of a task leaves all of its rows or none, counted once when it is taken up again",
  async fn() {
    const { operations } = await crashRun(undefined);
    assert.ok(operations.includes("catalog.commit"), operations.join());
    assert.ok(operations.includes("ledger.claim"));
    const faults = faultsOf(operations.length);
    const random = new SeededRandom(11);
    const chosen = faults.length <= FAULTS_RUN
      ? faults
      : Array.from({ length: FAULTS_RUN }, () => faults[random.below(faults.length)]);
    for (const fault of chosen) await crashRun(fault);
  },
});

async function crashRun(fault: ReturnType<typeof faultsOf>[number] | undefined) {
  const label = JSON.stringify(fault);
  await using lab = await DeleteLab.open({ matcher: numbersBelow(12) });
  await lab.commit(numbersFrom(0, 10));
  await lab.commit(numbersFrom(10, 10));
  await lab.commit(numbersFrom(20, 10));
  const task = await lab.submit("CAST(raw AS BIGINT) < 12");
  const all = await lab.numbers();
  const rest = numbersFrom(12, 18);
  const plan = new FaultPlan(fault);
  const { store, catalog, ledger } = lab.deps;
  const wrapped = plan.wrap(store, "store");
  const deps: DeleteTaskDeps = {
    ...lab.deps,
    store: wrapped,
    reader: new IcebergReader(wrapped),
    catalog: plan.wrap(catalog, "catalog"),
    ledger: plan.wrap(ledger, "ledger"),
  };
  await sweepDeleteTasks(deps).catch(() => {});
  const status = (await lab.task(task)).status;
  assert.deepEqual(await lab.numbers(), status === "done" ? rest : all, label);
  // Another process, after the lease and the pause between attempts.
  lab.clock.shift(FOREVER_MS);
  for (let turn = 0; turn < 3; turn += 1) await sweepDeleteTasks(lab.deps);
  assert.deepEqual(await lab.numbers(), rest, label);
  const { status: end, rowsDeleted, filesRewritten } = await lab.task(task);
  assert.deepEqual([end, rowsDeleted, filesRewritten], ["done", 12, 2], label);
  return { operations: plan.operations };
}

/** A matcher without DuckDB: rows with numbers below `limit`, whatever the test. */
function numbersBelow(limit: number): RowMatcher {
  return {
    async match({ path, rows }) {
      const store = { get: (file: string) => Deno.readFile(file) };
      const numbers = await numbersOfFile(store, path);
      assert.equal(numbers.length, rows);
      const gone = new Set(numbers.flatMap((number, at) => number < limit ? [at] : []));
      return { count: gone.size, has: (row) => gone.has(row) };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const failing: RowMatcher = {
  match: () => Promise.reject(new Error("down")),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** The lab's dependencies with something that happens around each match. */
function withMatcher(
  lab: DeleteLab,
  around: (
    match: () => ReturnType<RowMatcher["match"]>,
  ) => ReturnType<RowMatcher["match"]>,
): DeleteTaskDeps {
  const { matcher } = lab;
  const wrapped: RowMatcher = {
    match: (...args) => around(() => matcher.match(...args)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { ...lab.deps, matcher: () => Promise.resolve(wrapped) };
}

async function mergeAll(lab: DeleteLab): Promise<void> {
  const table = await lab.load();
  assert.ok(table !== undefined);
  const files = await lab.liveFiles();
  const writer = new DataFileWriter(lab.deps, table);
  for (const { key } of files) {
    for await (const batch of readParquet(await lab.store.get(key), key)) {
      await writer.add({ ...batch, schema: table.schema });
    }
  }
  const { outcome } = await commitRewrite(lab.deps, {
    ident: EVENTS,
    tableUuid: table.uuid,
    kind: "merge",
    replaced: files,
    files: await writer.finish(),
  });
  assert.equal(outcome, "committed");
}

/** Every data file in the store is one that some snapshot of the table has. */
async function assertNoStrays(lab: DeleteLab): Promise<void> {
  const live = new Set((await lab.liveFiles()).map(({ key }) => key));
  const before = new Set<string>();
  for await (const { key } of lab.store.list("")) {
    if (key.endsWith(".parquet") && !live.has(key)) before.add(key);
  }
  const table = await lab.load();
  assert.ok(table !== undefined);
  const reader = lab.deps.reader;
  for (const snapshot of table.metadata.snapshots) {
    const metadata = { ...table.metadata, "current-snapshot-id": snapshot["snapshot-id"] };
    const asOf = { ...table, metadata, snapshotId: snapshot["snapshot-id"] };
    for (const { key } of (await reader.selectFiles(asOf)).files) before.delete(key);
  }
  assert.deepEqual([...before], []);
}

/**
 * The life of a table as a seeded simulation against a plain map in memory. It has appends, late
 * rows, merges planned on what is old by then, delete tasks, a promoted attribute, retention,
 * expiry, removals and orphan sweeps. Clocks jump, and processes end before or after any call to
 * the store or the catalog. After each step the table has the model's rows. Every file that a
 * snapshot names is there, and so are those that a statement may still read.
 *
 * `SVC_MODEL_SEEDS=5000 deno test -A tests/equivalence/maintenance_model_test.ts` runs more seeds.
 */

import assert from "node:assert/strict";
import { withSidecars } from "../../shared/derived/sidecar.ts";
import { type LabRow, MaintenanceLab } from "../../shared/testing/maintenance_lab.ts";
import { EVENTS } from "../../shared/testing/table_lab.ts";
import { readForeign } from "./foreign_reader.ts";
import { rowsOf } from "../../shared/columns/rows.ts";
import type { RowMatcher } from "../../shared/engine/predicate/row_matcher.ts";
import { parsePromotion } from "../../shared/schema/promoted.ts";
import { sweepDeleteTasks } from "../../shared/upkeep/delete_loop.ts";
import { applyMigration } from "../../shared/tables/migrate.ts";
import { readParquet } from "../../shared/parquet/read_parquet.ts";
import { numbersOfFile } from "../../shared/testing/delete_lab.ts";
import { applyExpire } from "../../shared/tables/expire.ts";
import { applyMerge, lookForMerges, type MergePlan } from "../../shared/upkeep/merge.ts";
import { applyOrphans, lookForOrphans } from "../../shared/upkeep/orphans.ts";
import { MERGE_POLICY_DEFAULT, overlapDepth } from "../../shared/upkeep/plan_merge.ts";
import { applyRetention, lookForRetention } from "../../shared/upkeep/retention.ts";
import { sweepRemovals } from "../../shared/upkeep/sweep_removals.ts";
import type { TableSweepDeps } from "../../shared/upkeep/table_sweeps.ts";
import { filesOfSnapshots } from "../../shared/tables/table_files.ts";

const SEEDS = Number(Deno.env.get("SVC_MODEL_SEEDS") ?? 24);
const STEPS = 40;
const HOUR_MS = 3_600_000;
const DAY_SECS = 86_400;
/** How long a statement may read a snapshot's files in this simulation. */
const GRACE_MS = 2 * HOUR_MS;
const ORPHAN_AGE_MS = 5 * HOUR_MS;
const RETENTION_SECS = 2 * DAY_SECS;
/** Small, so that a few rows make tiers, full files and overlap. */
const POLICY = { ...MERGE_POLICY_DEFAULT, fanIn: 3, depthMax: 4, taskFilesMax: 12 };
const FULL_INPUT_BYTES = 3_000;

/** Rows whose number leaves a task's residue are deleted by it: its predicate is that residue. */
const MODULUS = 13;
const PROMOTED = parsePromotion("n:long");

/** Says what goes without DuckDB, whose predicates `shared/upkeep/delete_task_test.ts` covers. */
const MATCHER: RowMatcher = {
  async match({ path, rows }, { predicate }) {
    const store = { get: (file: string) => Deno.readFile(file) };
    const numbers = await numbersOfFile(store, path);
    assert.equal(numbers.length, rows);
    const gone = new Set(
      numbers.flatMap((number, at) => number % MODULUS === Number(predicate) ? [at] : []),
    );
    return { count: gone.size, has: (row) => gone.has(row) };
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

class Crash extends Error {}

/** A statement that began with a snapshot and reads its files as long as it may. */
interface Statement {
  readonly keys: readonly string[];
  readonly untilMs: number;
}

class Simulation {
  readonly model = new Map<number, bigint>();
  readonly taken = new Map<string, number>();
  #statements: Statement[] = [];
  #stale: MergePlan | undefined;
  #numbers = 0;
  /** Delete tasks that have not ended, and the rows that they name. */
  readonly #tasks = new Map<string, number>();

  constructor(readonly lab: MaintenanceLab) {}

  /** One step, which a crash may end anywhere. */
  async step(): Promise<void> {
    const { random, clock } = this.lab;
    clock.shift(Math.floor(random.float() * HOUR_MS));
    // A wall clock may jump.
    if (random.float() < 0.03) clock.shift(Math.floor((random.float() - 0.5) * 6 * HOUR_MS));
    const steps = [
      ["append", () => this.#append(0)],
      ["append", () => this.#append(0)],
      ["append", () => this.#append(0)],
      ["late", () => this.#append(3 * DAY_SECS)],
      ["stale merge", () => this.#staleMerge()],
      ["merge", () => this.#merge()],
      ["merge", () => this.#merge()],
      ["delete", () => this.#delete()],
      ["delete", () => this.#delete()],
      ["promote", async () => void await applyMigration(this.#deps(), EVENTS, [PROMOTED])],
      ["retention", () => this.#retention()],
      ["expire", () => this.#expire()],
      ["removals", async () => void await sweepRemovals(this.#deps(), EVENTS)],
      ["orphans", () => this.#orphans()],
      ["statement", () => this.#begin()],
    ] as const;
    if (random.float() < 0.2) await this.#look();
    const [name, run] = steps[Math.floor(random.float() * steps.length)] ?? steps[0];
    let ended = name as string;
    try {
      await run();
    } catch (error) {
      if (!isCrash(error)) throw error;
      ended = `${name} crashed`;
    }
    this.taken.set(ended, (this.taken.get(ended) ?? 0) + 1);
  }

  /** The tools of a process that may end at some call; one in three does. */
  #deps(): TableSweepDeps {
    const { random } = this.lab;
    const crashAt = random.float() < 0.35 ? Math.floor(random.float() * 30) : Infinity;
    let calls = 0;
    return this.lab.deps({
      gate: () => {
        calls += 1;
        if (calls > crashAt) throw new Crash("the process ended");
      },
    });
  }

  async #append(lateSecsMax: number): Promise<void> {
    const { random, clock } = this.lab;
    const rows: LabRow[] = [];
    const lateSecs = Math.floor(random.float() * lateSecsMax);
    for (let left = 1 + Math.floor(random.float() * 20); left > 0; left -= 1) {
      const ageSecs = lateSecs + Math.floor(random.float() * (lateSecsMax === 0 ? 600 : 7_200));
      // Some at the very same time.
      const ns = (clock.nowNs() / 1_000_000_000n - BigInt(ageSecs)) * 1_000_000_000n;
      rows.push({ number: this.#numbers += 1, ns });
    }
    const before = await this.lab.table();
    try {
      await this.lab.append(rows, this.#deps(), 1_000);
    } catch (error) {
      if (!isCrash(error)) throw error;
      // What an interrupted append did is all or nothing: see commit_crash_test.ts. Which of both,
      // the table says.
      const after = await this.lab.table();
      if (before?.snapshotId === after?.snapshotId) throw error;
    }
    for (const { number, ns } of rows) this.model.set(number, ns);
  }

  async #look(): Promise<void> {
    this.#stale = await lookForMerges(this.lab.deps(), EVENTS, { policy: POLICY });
  }

  /** Performs a plan that was made before whatever happened since. */
  async #staleMerge(): Promise<void> {
    const task = this.#stale?.tasks[0];
    if (this.#stale === undefined || task === undefined) return;
    const options = { inputBytesMax: FULL_INPUT_BYTES };
    try {
      await applyMerge(this.#deps(), this.#stale.table, task, options);
    } catch (error) {
      // Its files may be gone by then: it fails, and changes nothing.
      if (!(error instanceof Error) || !/not_found|no such|Cannot read/i.test(error.message)) {
        throw error;
      }
    }
  }

  async #merge(): Promise<void> {
    const deps = this.#deps();
    const plan = await lookForMerges(deps, EVENTS, { policy: POLICY });
    for (const task of plan?.tasks ?? []) {
      if (plan === undefined) return;
      await applyMerge(deps, plan.table, task, { inputBytesMax: FULL_INPUT_BYTES });
    }
  }

  /**
   * Accepts a task, perhaps, and looks after all that are due; what became of them is in the
   * ledger.
   */
  async #delete(): Promise<void> {
    const { lab } = this;
    if (lab.random.float() < 0.6) await this.#submit();
    let calls = 0;
    const crashAt = lab.random.float() < 0.4 ? Math.floor(lab.random.float() * 40) : Infinity;
    const gate = () => {
      calls += 1;
      if (calls > crashAt) throw new Crash("the process ended");
    };
    try {
      await sweepDeleteTasks(lab.deleteDeps(lab.deps({ gate }), { gate, matcher: MATCHER }));
    } finally {
      for (const [taskId, residue] of this.#tasks) await this.#settleTask(taskId, residue);
    }
    // A sweep tells its attempts' errors to the ledger alone.
    if (calls > crashAt) throw new Crash("the process ended");
  }

  async #submit(): Promise<void> {
    const { lab } = this;
    const residue = Math.floor(lab.random.float() * MODULUS);
    const taskId = `task-${this.#numbers}-${this.#tasks.size}-${residue}-${lab.clock.nowMs()}`;
    const table = await lab.table();
    const task = await lab.ledger.submit({
      taskId,
      ident: EVENTS,
      tableUuid: table?.uuid,
      epoch: 0,
      predicate: String(residue),
      startNs: undefined,
      endNs: undefined,
    }, 100);
    if (task !== undefined) this.#tasks.set(taskId, residue);
  }

  /** A task that is done took out every such row and no other; one that is not, none. */
  async #settleTask(taskId: string, residue: number): Promise<void> {
    const task = await this.lab.ledger.find(EVENTS.namespace, taskId);
    assert.ok(task !== undefined);
    if (task.endedMs === undefined) return;
    this.#tasks.delete(taskId);
    if (task.status !== "done") return;
    const gone = [...this.model.keys()].filter((number) => number % MODULUS === residue);
    assert.equal(task.rowsDeleted, gone.length, "each row is counted once");
    for (const number of gone) this.model.delete(number);
  }

  /** Where a row has the promoted attribute's column, it is the attribute. */
  async #checkPromoted(): Promise<void> {
    for (const { key } of await this.lab.files()) {
      for await (const batch of readParquet(await this.lab.store.get(key), key)) {
        for (const row of rowsOf(batch)) {
          const value = row[PROMOTED.name] ?? null;
          const number = BigInt(String(row["raw"]));
          assert.ok(
            value === null || value === number && number % 5n !== 0n,
            `${number}: ${value}`,
          );
        }
      }
    }
  }

  async #retention(): Promise<void> {
    const horizonNs = this.lab.clock.nowNs() - BigInt(RETENTION_SECS) * 1_000_000_000n;
    try {
      const deps = this.#deps();
      const plan = await lookForRetention(deps, EVENTS, {
        period_secs: RETENTION_SECS,
        exact: this.lab.random.float() < 0.5,
      });
      if (plan !== undefined) await applyRetention(deps, plan);
    } finally {
      // Which rows a file has besides is not the model's to know: that none younger went is.
      const left = new Set((await this.lab.rows()).map(({ number }) => number));
      for (const [number, ns] of this.model) {
        if (left.has(number)) continue;
        assert.ok(ns < horizonNs, `retention took row ${number}, which is younger`);
        this.model.delete(number);
      }
    }
  }

  async #expire(): Promise<void> {
    const retainLast = 1 + Math.floor(this.lab.random.float() * 4);
    const policy = { retainLast, ageMsMin: 0, removalGraceMs: GRACE_MS };
    await applyExpire(this.#deps(), EVENTS, policy);
  }

  async #orphans(): Promise<void> {
    const deps = this.#deps();
    const plan = await lookForOrphans(deps, EVENTS, { ageMsMin: ORPHAN_AGE_MS });
    if (plan !== undefined) await applyOrphans(deps, plan);
  }

  async #begin(): Promise<void> {
    const keys = (await this.lab.files()).map(({ key }) => key);
    this.#statements.push({ keys, untilMs: this.lab.clock.nowMs() + GRACE_MS });
  }

  async check(): Promise<void> {
    const { lab } = this;
    const expected = [...this.model].map(([number, ns]) => ({ number, ns }))
      .sort((a, b) => a.number - b.number);
    assert.deepEqual(await lab.rows(), expected);
    const there = new Set(await lab.keys());
    const table = await lab.table();
    for (const snapshot of table?.metadata.snapshots ?? []) {
      for (const { key } of await lab.files(table, snapshot["snapshot-id"])) {
        assert.ok(there.has(key), `${key} of a snapshot is there`);
      }
    }
    // A jump of the clock ends no statement early: those that outlasted it are simply done.
    this.#statements = this.#statements.filter(({ untilMs }) => untilMs > lab.clock.nowMs());
    for (const { keys } of this.#statements) {
      for (const key of keys) assert.ok(there.has(key), `${key} of a statement is there`);
    }
  }

  /** Lets maintenance finish: what is left is what the table needs, and little of it. */
  async settle(): Promise<void> {
    const { lab } = this;
    const deps = lab.deps();
    const policy = { retainLast: 1, ageMsMin: 0, removalGraceMs: GRACE_MS };
    lab.clock.shift(2 * 24 * HOUR_MS);
    for (let rounds = 0;; rounds += 1) {
      assert.ok(rounds < 100, "merging ends");
      const plan = await lookForMerges(deps, EVENTS, { policy: POLICY });
      const task = plan?.tasks[0];
      if (plan === undefined || task === undefined) break;
      await applyMerge(deps, plan.table, task, { inputBytesMax: FULL_INPUT_BYTES });
      // What is settled is so for an hour.
      lab.clock.shift(HOUR_MS);
    }
    await applyExpire(deps, EVENTS, policy);
    lab.clock.shift(2 * GRACE_MS + ORPHAN_AGE_MS);
    await sweepRemovals(deps, EVENTS);
    const orphans = await lookForOrphans(deps, EVENTS, { ageMsMin: ORPHAN_AGE_MS });
    if (orphans !== undefined) await applyOrphans(deps, orphans);
    await this.check();
    await this.#checkNothingElse();
    await this.#checkPromoted();
  }

  async #checkNothingElse(): Promise<void> {
    const { lab } = this;
    const table = await lab.table();
    if (table === undefined) return;
    const { metadata, locator } = table;
    const deps = lab.deps();
    const { lists, manifests } = await filesOfSnapshots(deps, table, metadata.snapshots);
    const log = metadata["metadata-log"].map((entry) => entry["metadata-file"]);
    const live = (await lab.files()).map(({ key }) => key);
    const named = [
      ...[table.metadataLocation, ...log, ...lists, ...manifests.keys()].map((location) =>
        locator.keyOf(location)
      ),
      ...withSidecars(live),
    ];
    assert.deepEqual((await lab.keys()).sort(), named.sort(), "every file is needed");
    const days = Map.groupBy(await lab.files(), ({ day }) => day);
    for (const files of days.values()) {
      assert.ok(overlapDepth(files) <= POLICY.depthMax);
      assert.ok(files.filter(({ key }) => !key.endsWith("-full.parquet")).length <= 1);
    }
  }
}

function isCrash(error: unknown): boolean {
  return error instanceof Error && (error instanceof Crash || isCrash(error.cause));
}

Deno.test({
  name:
    `model: ${SEEDS} seeds of a table's life with crashes, the rows of a plain map after each step, and nothing left over`,
  async fn() {
    const taken = new Map<string, number>();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      try {
        await runSeed(seed, taken);
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, {
          cause: error,
        });
      }
    }
    for (
      const step of [
        "append",
        "late",
        "merge",
        "stale merge",
        "delete",
        "promote",
        "retention",
        "expire",
        "orphans",
      ]
    ) {
      assert.ok(taken.has(step), `${step} was taken`);
      assert.ok(taken.has(`${step} crashed`), `${step} crashed once`);
    }
  },
});

async function runSeed(seed: number, taken: Map<string, number>): Promise<void> {
  await using lab = await MaintenanceLab.open(seed);
  const simulation = new Simulation(lab);
  for (let step = 0; step < STEPS; step += 1) {
    await simulation.step();
    await simulation.check();
  }
  await simulation.settle();
  for (const [name, count] of simulation.taken) taken.set(name, (taken.get(name) ?? 0) + count);
  const { rows } = await readForeign(await lab.writeOut(), EVENTS);
  const read = rows.map((row) => [Number(row["raw"]), row["timestamp_ns"]]);
  assert.deepEqual(read.toSorted(byNumber), [...simulation.model].sort(byNumber), "icebird agrees");
}

function byNumber(a: readonly unknown[], b: readonly unknown[]): number {
  return Number(a[0]) - Number(b[0]);
}

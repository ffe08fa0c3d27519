/** Machines, processes, a store and a catalog, and what happens to them. */

import type { Catalog } from "../../shared/catalog/catalog.ts";
import type { DeleteLedger } from "../../shared/catalog/delete_ledger.ts";
import type { Removals } from "../../shared/catalog/removals.ts";
import { SqliteDatabase } from "../../shared/catalog/sql_database.ts";
import { SqlDeleteLedger } from "../../shared/catalog/sql_delete_ledger.ts";
import { sqliteDialect } from "../../shared/catalog/sql_dialect.ts";
import {
  type MaintenanceCatalog,
  sqlMaintenanceCatalog,
} from "../../shared/catalog/sql_maintenance_catalog.ts";
import { SqlWalClaims } from "../../shared/catalog/sql_wal_claims.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import type { WalClaims } from "../../shared/catalog/wal_claims.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { pickOf, planSeed, type SeedPlan, type Topology } from "./faults.ts";
import { watchedCatalog, watchedLedger } from "./gated_parts.ts";
import type { Life, SentBatch } from "./life.ts";
import type { Mutation } from "./mutations.ts";
import { sourceNow } from "./parts.ts";
import { ask, checkAnswer, readAnswer } from "./read_answer.ts";
import {
  clientRole,
  compactorRole,
  ingestRole,
  lastRole,
  readerRole,
  refuseBug,
  type Role,
} from "./roles.ts";
import { RowFiles } from "./row_files.ts";
import { Scheduler } from "./scheduler.ts";
import { SimClock, type WallClock } from "./sim_clock.ts";
import { type MachineProcess, SimMachine } from "./sim_machine.ts";
import { SimProcess } from "./sim_process.ts";
import { SimStore } from "./sim_store.ts";
import { type Row, Truth } from "./truth.ts";

const ROLES: Readonly<Record<string, Role>> = {
  ingest: ingestRole,
  compactor: compactorRole,
  reader: readerRole,
  client: clientRole,
};

/** Roles of the processes of each machine. A machine with an ingest server has a WAL. */
const MACHINES: Readonly<Record<Topology, readonly (readonly string[])[]>> = {
  volume: [["ingest", "ingest", "compactor", "compactor", "reader", "reader", "client"]],
  machines: [["ingest", "compactor", "reader", "client"], ["ingest", "compactor", "reader"]],
  mirror: [
    ["ingest", "compactor", "reader", "client"],
    ["ingest", "reader"],
    ["compactor", "compactor"],
  ],
};

/** Steps of one part of an end in order; some 500 are usual. */
const CLOSING_STEPS_MAX = 4_000;
const RESTART_MS_MAX = 20_000;
const PAUSE_MS_MAX = 2 * 3_600_000;
/** A wall clock is wrong by so much at most: orphans are a day old. */
const WRONG_MS_MAX = 10 * 3_600_000;
/** Processes that are started beside one that stands still. */
const REPLACEMENTS_MAX = 2;

interface Parts {
  readonly catalog: Catalog;
  readonly ledger: DeleteLedger;
  readonly kept: MaintenanceCatalog;
  readonly claims: WalClaims;
  readonly store: SimStore;
  readonly rowFiles: RowFiles;
  readonly truth: Truth;
  readonly databaseClock: WallClock;
}

export class World implements Life, AsyncDisposable {
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly plan: SeedPlan;
  readonly catalog: Catalog;
  readonly ledger: DeleteLedger;
  readonly kept: MaintenanceCatalog;
  readonly removals: Removals;
  readonly claims: WalClaims;
  readonly store: SimStore;
  readonly rowFiles: RowFiles;
  readonly truth: Truth;
  readonly reader: IcebergReader;
  readonly sent = new Map<SimMachine, Set<SentBatch>>();
  readonly counts = new Map<string, number>();
  readonly machines: readonly SimMachine[];
  /** Processes end when they have done what they are at. */
  isClosing = false;
  /** Clocks that jumped. */
  jumps = 0;
  readonly #databaseClock: WallClock;
  #replacements = 0;
  #running = 0;

  private constructor(
    scheduler: Scheduler,
    plan: SeedPlan,
    parts: Parts,
    readonly mutation: Mutation | undefined,
  ) {
    this.scheduler = scheduler;
    this.random = scheduler.random;
    this.plan = plan;
    this.catalog = watchedCatalog(parts.catalog, parts.truth, mutation);
    this.ledger = watchedLedger(parts.ledger, parts.truth);
    this.kept = parts.kept;
    this.removals = parts.kept.removals;
    this.claims = parts.claims;
    this.store = parts.store;
    this.rowFiles = parts.rowFiles;
    this.truth = parts.truth;
    this.reader = new IcebergReader(parts.store.objects);
    this.#databaseClock = parts.databaseClock;
    this.machines = MACHINES[plan.topology].map((roles, at) =>
      new SimMachine(`m${at + 1}`, scheduler, roles.includes("ingest"))
    );
  }

  /** `name`: of the database in memory, one a world. */
  static async open(seed: number, name: string, mutation?: Mutation): Promise<World> {
    const scheduler = new Scheduler(new SeededRandom(seed));
    const plan = planSeed(scheduler.random);
    const databaseClock = { offsetMs: 0 };
    const clock = new SimClock(scheduler, databaseClock);
    const path = `file:${name}?mode=memory&cache=shared`;
    const open = () => new SqliteDatabase(path, { busyTimeoutMs: 0 });
    const catalog = await openSqliteCatalog({ path, clock });
    const store = new SimStore(new SimClock(scheduler, { offsetMs: 0 }));
    const rowFiles = new RowFiles(store.objects);
    const truth = new Truth(store, rowFiles);
    store.removing = (keys) => truth.removing(keys);
    const dialect = sqliteDialect(clock);
    const parts = {
      catalog,
      ledger: new SqlDeleteLedger(open(), dialect),
      kept: sqlMaintenanceCatalog(open(), dialect),
      claims: new SqlWalClaims(open(), dialect),
      store,
      rowFiles,
      truth,
      databaseClock,
    };
    return new World(scheduler, plan, parts, mutation);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** Whether a delete task that is sent now has to find the row. */
  mustGo(row: Row): boolean {
    return this.plan.topology === "volume"
      ? this.truth.isOwed(row, undefined)
      : this.truth.wasCommitted(row.number);
  }

  /** `steps` of chaos, then an end in order. Errors: `Violation`; what the product threw. */
  async live(steps: number): Promise<void> {
    const { scheduler } = this;
    MACHINES[this.plan.topology].forEach((roles, at) => {
      const machine = this.machines[at];
      for (const [place, role] of roles.entries()) {
        if (machine !== undefined) this.#start(machine, role, `${role}-${machine.name}-${place}`);
      }
    });
    scheduler.faults = this.plan.calls;
    scheduler.beforeStep = () => this.#happen();
    const endSteps = scheduler.steps + steps;
    await scheduler.run(() => scheduler.steps >= endSteps, steps + 1);
    scheduler.beforeStep = () => Promise.resolve();
    scheduler.faults = undefined;
    await this.#close();
  }

  async #close(): Promise<void> {
    const { scheduler } = this;
    scheduler.note("closing");
    this.isClosing = true;
    for (const { processes } of this.machines) {
      for (const process of processes) process.pausedUntilMs = 0;
    }
    await scheduler.run(() => this.#running === 0, CLOSING_STEPS_MAX);
    await this.check();
    for (const machine of this.machines) {
      if (!machine.hasWal) continue;
      this.#start(machine, "last", `last-${machine.name}`);
      await scheduler.run(() => this.#running === 0, CLOSING_STEPS_MAX);
    }
    await this.check();
    this.#checkEnd();
  }

  /** Every acknowledged row is in the table, or was deleted, and every task has ended. */
  #checkEnd(): void {
    for (const row of this.truth.rows.values()) {
      if (row.ack === undefined || row.mayBeLost || this.truth.wasCommitted(row.number)) continue;
      this.scheduler.fail(new Error(`row ${row.number} is acknowledged, and not in the table`));
    }
    this.count(`seeds of ${this.plan.topology}`);
  }

  /** What statements would be answered now, beside each machine. */
  async check(): Promise<void> {
    for (const machine of this.machines) {
      const answer = await readAnswer(sourceNow(this, machine));
      checkAnswer(this.truth, ask(this.truth, machine.name), answer);
    }
  }

  #start(machine: SimMachine, role: string, name: string): void {
    const process = new SimProcess(name, machine, this.scheduler);
    machine.processes.add(process);
    this.#running += 1;
    process.onEnd = () => {
      this.#running -= 1;
      machine.processes.delete(process);
      if (this.isClosing) return;
      this.scheduler.later(this.random.below(RESTART_MS_MAX), `start ${name}`, () => {
        if (!this.isClosing) this.#start(machine, role, name);
      });
    };
    const run = role === "last" ? lastRole : ROLES[role];
    if (run === undefined) throw new Error(`there is no role ${role}`);
    run(this, process).catch((error) => {
      if (role === "last") this.scheduler.fail(error);
      else refuseBug(this, error);
    }).then(() => process.end()).catch((error) => this.scheduler.fail(error));
  }

  /** What happens to the world before a step, if anything. */
  async #happen(): Promise<void> {
    const { random } = this;
    const { kill, powerCut, pause, jump } = this.plan.events;
    let dice = random.float();
    if ((dice -= kill) < 0) return await this.#kill();
    if ((dice -= powerCut) < 0) return await this.#cutPower();
    if ((dice -= pause) < 0) return this.#pause();
    if ((dice -= jump) < 0) return this.#jump();
    if (dice > 1 - CHECKS_SHARE - kill - powerCut - pause - jump) await this.check();
  }

  #anyProcess(): { machine: SimMachine; process: MachineProcess } | undefined {
    const processes = this.machines.flatMap((machine) =>
      [...machine.processes].map((process) => ({ machine, process }))
    );
    return processes.length === 0 ? undefined : pickOf(processes, this.random);
  }

  async #kill(): Promise<void> {
    const { process } = this.#anyProcess() ?? {};
    if (process === undefined) return;
    this.scheduler.note(`kill ${process.name}`);
    this.count("kills");
    await process.end();
    await this.check();
  }

  async #cutPower(): Promise<void> {
    const machine = pickOf(this.machines, this.random);
    const loss = pickOf(["drop", "keep", "prefix", "torn"] as const, this.random);
    this.scheduler.note(`power ${machine.name} ${loss}`);
    this.count("power cuts");
    await machine.losePower(loss);
    this.truth.powerCut(machine.name);
    await this.check();
  }

  /** A process stands still; somebody may start another in its place. */
  #pause(): void {
    const { machine, process } = this.#anyProcess() ?? {};
    if (machine === undefined || process === undefined) return;
    const ms = Math.floor(Math.exp(this.random.float() * Math.log(PAUSE_MS_MAX)));
    process.pausedUntilMs = this.scheduler.nowMs + ms;
    this.scheduler.note(`pause ${process.name} ${ms}`);
    this.count("pauses");
    if (!process.name.startsWith("compactor") || this.#replacements >= REPLACEMENTS_MAX) return;
    this.#replacements += 1;
    this.#start(machine, "compactor", `compactor-again-${this.#replacements}`);
  }

  #jump(): void {
    const clock = pickOf([...this.machines, this.#databaseClock], this.random);
    const ms = Math.floor((this.random.float() * 2 - 1) * WRONG_MS_MAX);
    clock.offsetMs = ms;
    this.scheduler.note(
      `jump of ${clock instanceof SimMachine ? clock.name : "the catalog"} ${ms}`,
    );
    this.jumps += 1;
    this.count("jumps");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ledger[Symbol.asyncDispose]();
    await this.kept[Symbol.asyncDispose]();
    await this.claims[Symbol.asyncDispose]();
    await this.catalog.close();
  }
}

/** Steps before which everything is looked at. */
const CHECKS_SHARE = 0.02;

/**
 * Rows of data files that newest-first and oldest-first statements read again and again. They are
 * tables in the memory of the DuckDB of cheap statements. This file knows which there are, which
 * are in use, which are made next. `load_held.ts` makes a table, `held_plan.ts` reads one.
 *
 * A file's rows are kept in blocks, each with the columns that statements wanted of it. Invariants:
 * a table always stands for the same rows of the same file. It is dropped only while no statement
 * holds it. All tables together have at most `bytesMax` bytes by their own account, but for those
 * that statements still hold. A block is made when it is wanted a second time. The least recently
 * used go first, and only for a block that was wanted again since. So statements over more blocks
 * than fit do not drive out what the next of them reads.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { HeldBlock, RowRange } from "../plan/plan.ts";

const log = getLogger(["svc", "engine"]);

/** Blocks in line to be made. A block that is wanted beyond them has to be wanted again. */
const LINE_MAX = 64;
/** Blocks that are remembered because they were wanted, or are too large to be kept. */
const REMEMBERED_MAX = 1_024;
/** One block is at most this part of all. */
const BLOCK_SHARE_DIVISOR = 4;
/** After a failure, for example a full pool, no block is made for so long. */
const FAILURE_PAUSE_MS = 60_000;

/** Rows and columns of a file that a statement wants. */
export interface WantedBlock {
  readonly file: DataFile;
  readonly rows: RowRange;
  readonly columns: readonly Column[];
}

/**
 * Makes tables and drops them in the background. Errors of both methods: the file's and DuckDB's.
 */
export interface HeldTables {
  /**
   * Makes `table`. Returns its bytes, or undefined where those would be more than `bytesMax`: then
   * there is no table.
   */
  make(
    wanted: WantedBlock,
    options: { readonly table: string; readonly bytesMax: number; readonly signal: AbortSignal },
  ): Promise<number | undefined>;
  drop(tables: readonly string[], signal: AbortSignal): Promise<void>;
}

/** Is told what becomes of rows in memory. */
export interface HeldRowsMeter {
  /** Tells how many bytes may be kept, once, at the start. */
  limit(bytes: number): void;
  /** Tells that a statement asked for a block. */
  lookedUp(outcome: "hit" | "miss"): void;
  /** Tells what is kept from now on. */
  held(bytes: number, blocks: number): void;
  /** Tells how many blocks made room for others. */
  evicted(blocks: number): void;
  /** Tells that a block could not be made; its data file is read as it is. */
  failed(): void;
}

/** Bytes that may be kept, and what makes tables. */
export interface HeldRowsOptions {
  /** 0 keeps nothing. */
  readonly bytesMax: number;
  readonly tables: HeldTables;
  readonly nowMs: () => number;
  readonly meter?: HeldRowsMeter;
}

interface Entry extends HeldBlock {
  readonly key: string;
  readonly types: ReadonlyMap<number, ColumnType>;
  readonly columns: readonly Column[];
  readonly bytes: number;
  leases: number;
  /** Number of the last statement that read it. */
  usedBy: number;
}

/** All rows in memory of a server. Disposing it ends what is being made. */
export class HeldRows implements AsyncDisposable {
  /** Blocks, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Blocks that no statement takes any more. They are dropped once none holds them. */
  readonly #retired = new Set<Entry>();
  /**
   * Number of the statement that last wanted a block which is not kept, by key; the oldest want
   * first.
   */
  readonly #wants = new Map<string, number>();
  readonly #tooLarge = new Set<string>();
  readonly #line = new Set<string>();
  readonly #stop = new AbortController();
  readonly #options: HeldRowsOptions;
  #made = 0;
  /** How often all tables were lost. */
  #losses = 0;
  #bytes = 0;
  #statements = 0;
  #pausedUntilMs = -Infinity;
  #working: Promise<void> = Promise.resolve();

  constructor(options: HeldRowsOptions) {
    this.#options = options;
    options.meter?.limit(options.bytesMax);
  }

  /** Bytes of all tables, as their makers tell it. */
  get bytes(): number {
    return this.#bytes;
  }

  get blocks(): number {
    return this.#entries.size;
  }

  /** Resolves when all that was wanted until now is made, or was given up. */
  get settled(): Promise<void> {
    return this.#working;
  }

  /** A lease for one statement. */
  lease(): HeldLease {
    this.#statements += 1;
    return new HeldLease(this, this.#statements);
  }

  /**
   * The block with all these columns, which stays until it is given back. Undefined: it is not
   * kept.
   */
  take(wanted: WantedBlock, statement: number): Entry | undefined {
    const { bytesMax, meter } = this.#options;
    if (bytesMax <= 0) return undefined;
    const key = keyOf(wanted);
    const entry = this.#entries.get(key);
    const isHeld = entry !== undefined &&
      wanted.columns.every(({ id, type }) => entry.types.get(id) === type);
    meter?.lookedUp(isHeld ? "hit" : "miss");
    if (!isHeld) return undefined;
    entry.leases += 1;
    entry.usedBy = statement;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  giveBack(taken: readonly Entry[]): void {
    for (const entry of taken) entry.leases -= 1;
    if (taken.some((entry) => this.#retired.has(entry))) this.#behind(() => this.#dropRetired());
  }

  /** Has a block made, where it was wanted before. Nobody waits for it. */
  want(wanted: WantedBlock, statement: number): void {
    if (this.#options.bytesMax <= 0) return;
    const key = keyOf(wanted);
    const wantedBefore = this.#wants.get(key);
    remember(this.#wants, key, statement);
    if (wantedBefore === undefined || this.#line.has(key) || this.#tooLarge.has(key)) return;
    if (this.#line.size >= LINE_MAX) return;
    this.#line.add(key);
    this.#behind(async () => {
      try {
        await this.#make(key, wanted, wantedBefore);
      } finally {
        this.#line.delete(key);
      }
    });
  }

  /**
   * Forgets all tables, which are gone because their DuckDB was begun anew. What is wanted again is
   * made again.
   */
  forget(): void {
    this.#losses += 1;
    this.#entries.clear();
    this.#retired.clear();
    this.#bytes = 0;
    this.#tellHeld();
  }

  /** Ends what is being made. Tables end with their DuckDB. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the engine is closed"));
    await this.#working;
  }

  /** Runs work one at a time, and after a failure none for a while. */
  #behind(work: () => Promise<void>): void {
    const { signal } = this.#stop;
    this.#working = this.#working.then(async () => {
      if (signal.aborted) return;
      const losses = this.#losses;
      try {
        await work();
      } catch (error) {
        if (signal.aborted || losses !== this.#losses) return;
        this.#options.meter?.failed();
        this.#pausedUntilMs = this.#options.nowMs() + FAILURE_PAUSE_MS;
        log.warn("cannot hold rows in memory: {error}", { error: messageOf(error) });
      }
    });
  }

  async #make(key: string, { file, rows, columns }: WantedBlock, wantedBefore: number) {
    const { bytesMax, tables, nowMs } = this.#options;
    if (nowMs() < this.#pausedUntilMs) return;
    // The block counts for the average of the others before it is known how large it is.
    const held = [...this.#entries.values()];
    const usual = held.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, held.length);
    if (this.#victims(usual, { wantedBefore }) === undefined) return;
    const before = this.#entries.get(key);
    const wanted = { file, rows, columns: joined(columns, before?.columns ?? []) };
    const table = `${HELD_SCHEMA}.b${this.#made += 1}`;
    const { signal } = this.#stop;
    const losses = this.#losses;
    const bytes = await tables.make(wanted, {
      table,
      bytesMax: bytesMax / BLOCK_SHARE_DIVISOR,
      signal,
    });
    if (losses !== this.#losses) {
      // The table may be in the new process, where nobody knows of it, or have gone with the old
      // one.
      if (bytes !== undefined) await tables.drop([table], signal).catch(() => {});
      return;
    }
    if (bytes === undefined) {
      this.#tooLarge.add(key);
      return forgetOldest(this.#tooLarge);
    }
    const victims = this.#victims(bytes, { wantedBefore, before });
    if (victims === undefined) return await tables.drop([table], signal);
    for (const victim of victims) this.#retire(victim);
    const types = new Map(wanted.columns.map(({ id, type }) => [id, type]));
    this.#entries.set(key, {
      ...{ key, rows, table, types, columns: wanted.columns, bytes },
      leases: 0,
      usedBy: this.#statements,
    });
    this.#wants.delete(key);
    this.#bytes += bytes;
    const evicted = victims.filter((victim) => victim !== before).length;
    if (evicted > 0) this.#options.meter?.evicted(evicted);
    this.#tellHeld();
    await this.#dropRetired();
  }

  /**
   * The blocks that give way to a block of so many bytes, `before` in any case. Undefined: that is
   * not enough.
   */
  #victims(
    bytes: number,
    { wantedBefore, before }: {
      readonly wantedBefore: number;
      readonly before?: Entry | undefined;
    },
  ): Entry[] | undefined {
    const victims = before === undefined ? [] : [before];
    let missing = this.#bytes + bytes - (before?.bytes ?? 0) - this.#options.bytesMax;
    for (const entry of this.#entries.values()) {
      if (missing <= 0) break;
      if (entry === before || entry.leases > 0 || entry.usedBy >= wantedBefore) continue;
      victims.push(entry);
      missing -= entry.bytes;
    }
    return missing <= 0 ? victims : undefined;
  }

  #retire(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#retired.add(entry);
  }

  async #dropRetired(): Promise<void> {
    const idle = [...this.#retired].filter(({ leases }) => leases === 0);
    if (idle.length === 0) return;
    for (const entry of idle) this.#retired.delete(entry);
    const losses = this.#losses;
    await this.#options.tables.drop(idle.map(({ table }) => table), this.#stop.signal);
    if (losses !== this.#losses) return;
    for (const { bytes } of idle) this.#bytes -= bytes;
    this.#tellHeld();
  }

  #tellHeld(): void {
    this.#options.meter?.held(this.#bytes, this.#entries.size);
  }
}

/** What one statement reads of rows in memory. The statement disposes of it. */
export class HeldLease implements Disposable {
  readonly #taken: Entry[] = [];
  readonly #missed: WantedBlock[] = [];

  constructor(private readonly held: HeldRows, private readonly statement: number) {}

  /**
   * Takes all these blocks, or none. With `wants` the blocks that are not kept are wanted, once the
   * statement has ended.
   */
  take(
    wanted: readonly WantedBlock[],
    { wants }: { readonly wants: boolean },
  ): readonly HeldBlock[] | undefined {
    const taken = wanted.map((block) => this.held.take(block, this.statement));
    const held = taken.filter((entry) => entry !== undefined);
    this.#taken.push(...held);
    if (wants) this.#missed.push(...wanted.filter((_, at) => taken[at] === undefined));
    return held.length === wanted.length ? held : undefined;
  }

  [Symbol.dispose](): void {
    this.held.giveBack(this.#taken.splice(0));
    for (const block of this.#missed.splice(0)) this.held.want(block, this.statement);
  }
}

/** Schema of the tables. No statement can name it: the gate knows stored tables alone. */
export const HELD_SCHEMA = "held_rows";

function keyOf({ file, rows }: WantedBlock): string {
  return `${rows.first} ${file.key}`;
}

/** `columns`, and the columns of `others` that they lack. */
function joined(columns: readonly Column[], others: readonly Column[]): readonly Column[] {
  const ids = new Set(columns.map(({ id }) => id));
  return [...columns, ...others.filter(({ id }) => !ids.has(id))];
}

function remember(wants: Map<string, number>, key: string, statement: number): void {
  wants.delete(key);
  wants.set(key, statement);
  forgetOldest(wants);
}

function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
}

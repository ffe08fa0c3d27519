/**
 * Copies of data files' wanted columns that are quicker to read, as files in a directory: which
 * there are, which are in use, which are made next. `decoded_data_files.ts` makes and reads them.
 *
 * Invariants: a path always stands for the same rows. A file is removed only while no statement
 * holds it. One set of columns of a data file is copied once at a time. All files together hold at
 * most `bytesMax` bytes and number at most `entriesMax`; the copy that is being made counts by its
 * estimate. The least recently used that nobody holds go first, and only for columns that were
 * asked for again since. So a scan of more files than fit does not drive out what it will read the
 * next time.
 */

import { getLogger } from "@logtape/logtape";
import { present } from "../../../base/assert.ts";
import { messageOf } from "../../../base/errors.ts";
import type { Column } from "../../../schema/schema.ts";
import type { DataFile } from "../../../iceberg/types.ts";

const log = getLogger(["svc", "engine"]);

/** Copies in line to be made. A copy that is wanted beyond them has to be wanted again. */
const LINE_MAX = 64;
/** How many wants are remembered for each copy that may be held. */
const WANTS_PER_ENTRY = 4;
/** After a failure, for example a full disk, no copy is made for so long. */
const FAILURE_PAUSE_MS = 60_000;

/** Columns of a data file, none twice, in any order. */
export interface WantedColumns {
  readonly file: DataFile;
  readonly columns: readonly Column[];
}

/** A copy: its path and its columns. */
export interface DecodedFile {
  readonly path: string;
  readonly byteLength: number;
}

/** Makes copies. Errors of both methods: the file's and DuckDB's. */
export interface Decoder {
  /** About how many bytes a copy will have. */
  estimate(wanted: WantedColumns, signal: AbortSignal): Promise<number>;
  /** Writes a copy to `path`. Returns its bytes. */
  decode(wanted: WantedColumns, path: string, signal: AbortSignal): Promise<number>;
}

/** Is told what the cache does. */
export interface DecodedCacheMeter {
  lookedUp(outcome: "hit" | "miss"): void;
  /** Tells what is held from now on. */
  held(bytes: number, entries: number): void;
  /** Tells how many copies were removed to make room. */
  evicted(entries: number): void;
  /** Tells that a copy could not be made; its data file is read as it is. */
  failed(): void;
}

/** Where copies lie, and their bounds in bytes and number. */
export interface DecodedCacheOptions {
  readonly bytesMax: number;
  readonly entriesMax: number;
  /** Path of a directory that exists and is empty. */
  readonly dir: string;
  readonly remove: (path: string) => Promise<void>;
  readonly nowMs: () => number;
  readonly meter?: DecodedCacheMeter;
}

/** A copy in use. */
export interface TakenFile extends DecodedFile {
  readonly key: string;
}

interface Entry extends TakenFile {
  readonly fileKey: string;
  readonly columnIds: ReadonlySet<number>;
  leases: number;
  /** Number of the last statement that read it. */
  usedBy: number;
}

/** All copies of a server. Disposing it ends what is being made. */
export class DecodedCache implements AsyncDisposable {
  /** Copies, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #byFile = new Map<string, Set<Entry>>();
  /**
   * Number of the statement that last wanted a copy which there is not, by key; the oldest want
   * first.
   */
  readonly #wants = new Map<string, number>();
  readonly #line = new Set<string>();
  readonly #stop = new AbortController();
  readonly #options: DecodedCacheOptions;
  #made = 0;
  #bytes = 0;
  #statements = 0;
  #pausedUntilMs = -Infinity;
  #making: Promise<void> = Promise.resolve();

  constructor(options: DecodedCacheOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#entries.size;
  }

  /** Resolves when all that was wanted until now is made, or was given up. */
  get settled(): Promise<void> {
    return this.#making;
  }

  /** A number for a statement that takes and wants copies. It is higher than those before. */
  nextStatement(): number {
    return this.#statements += 1;
  }

  /**
   * The copy that has all these columns, which stays until it is given back. Undefined: there is
   * none.
   */
  take({ file, columns }: WantedColumns, statement: number): TakenFile | undefined {
    const own = this.#byFile.get(file.key) ?? new Set<Entry>();
    const found = own.values().find((entry) => columns.every(({ id }) => entry.columnIds.has(id)));
    this.#options.meter?.lookedUp(found === undefined ? "miss" : "hit");
    if (found === undefined) return undefined;
    found.leases += 1;
    found.usedBy = statement;
    this.#entries.delete(found.key);
    this.#entries.set(found.key, found);
    return found;
  }

  /** Gives copies back, each as often as it was taken. */
  giveBack(taken: Iterable<TakenFile>): void {
    for (const { key } of taken) present(this.#entries.get(key)).leases -= 1;
  }

  /** Has a copy made as soon as may be; nobody waits for it. */
  want(wanted: WantedColumns, { statement, decoder }: {
    readonly statement: number;
    readonly decoder: Decoder;
  }): void {
    const key = keyOf(wanted);
    const wantedBefore = this.#wants.get(key);
    this.#remember(key, statement);
    if (this.#line.has(key) || this.#line.size >= LINE_MAX || this.#stop.signal.aborted) return;
    this.#line.add(key);
    this.#making = this.#making.then(async () => {
      await this.#make(key, wanted, { wantedBefore, decoder });
      this.#line.delete(key);
    });
  }

  /** Ends what is being made. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the engine is closed"));
    await this.#making;
  }

  #remember(key: string, statement: number): void {
    this.#wants.delete(key);
    this.#wants.set(key, statement);
    const [oldest] = this.#wants.keys();
    if (this.#wants.size > WANTS_PER_ENTRY * this.#options.entriesMax && oldest !== undefined) {
      this.#wants.delete(oldest);
    }
  }

  async #make(
    key: string,
    wanted: WantedColumns,
    { wantedBefore = -Infinity, decoder }: {
      readonly wantedBefore: number | undefined;
      readonly decoder: Decoder;
    },
  ): Promise<void> {
    const { signal } = this.#stop;
    const { dir, nowMs, meter } = this.#options;
    if (signal.aborted || nowMs() < this.#pausedUntilMs || this.#entries.has(key)) return;
    const path = `${dir}/decoded-${this.#made += 1}.parquet`;
    try {
      const estimate = await decoder.estimate(wanted, signal);
      if (!await this.#makeRoom(estimate, wantedBefore)) return;
      const byteLength = await decoder.decode(wanted, path, signal);
      await this.#add(key, wanted, { path, byteLength });
    } catch (error) {
      await this.#remove(path);
      if (signal.aborted) return;
      this.#pausedUntilMs = nowMs() + FAILURE_PAUSE_MS;
      meter?.failed();
      log.warn("cannot keep columns of {key} decoded: {error}", {
        key: wanted.file.key,
        error: messageOf(error),
      });
    }
  }

  async #add(key: string, { file, columns }: WantedColumns, made: DecodedFile): Promise<void> {
    const columnIds = new Set(columns.map(({ id }) => id));
    const own = this.#byFile.get(file.key) ?? new Set();
    // A statement that wants fewer columns finds them in the new copy.
    const lesser = [...own].filter((entry) =>
      entry.leases === 0 && entry.columnIds.isSubsetOf(columnIds)
    );
    await Promise.all(lesser.map((entry) => this.#drop(entry)));
    const entry: Entry = {
      ...{ ...made, key, fileKey: file.key, columnIds },
      leases: 0,
      usedBy: this.#statements,
    };
    if (!await this.#makeRoom(made.byteLength, Infinity)) return await this.#remove(made.path);
    this.#entries.set(key, entry);
    this.#byFile.set(file.key, (this.#byFile.get(file.key) ?? new Set()).add(entry));
    this.#wants.delete(key);
    this.#hold(made.byteLength);
  }

  /**
   * Makes room for a copy of `bytes`. False when only what was used since `wantedBefore` could make
   * way.
   */
  async #makeRoom(bytes: number, wantedBefore: number): Promise<boolean> {
    const { bytesMax, entriesMax } = this.#options;
    const victims: Entry[] = [];
    let bytesFree = bytesMax - this.#bytes;
    for (const entry of this.#entries.values()) {
      if (bytesFree >= bytes && this.#entries.size - victims.length < entriesMax) break;
      if (entry.leases > 0 || entry.usedBy >= wantedBefore) continue;
      victims.push(entry);
      bytesFree += entry.byteLength;
    }
    if (bytesFree < bytes || this.#entries.size - victims.length >= entriesMax) return false;
    await Promise.all(victims.map((entry) => this.#drop(entry)));
    if (victims.length > 0) this.#options.meter?.evicted(victims.length);
    return true;
  }

  async #drop(entry: Entry): Promise<void> {
    this.#entries.delete(entry.key);
    const own = this.#byFile.get(entry.fileKey);
    own?.delete(entry);
    if (own?.size === 0) this.#byFile.delete(entry.fileKey);
    this.#hold(-entry.byteLength);
    await this.#remove(entry.path);
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    this.#options.meter?.held(this.#bytes, this.#entries.size);
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#options.remove(path);
    } catch (error) {
      log.warn("cannot remove {path}: {error}", { path, error: messageOf(error) });
    }
  }
}

function keyOf({ file, columns }: WantedColumns): string {
  return JSON.stringify([file.key, columns.map(({ id }) => id).toSorted((a, b) => a - b)]);
}

/**
 * Where DuckDB finds data files: in the warehouse's folder (`near_files.ts`), or in a cache of what
 * is read of objects elsewhere (`object_cache/`).
 */

import type { DataFile } from "../../iceberg/types.ts";
import type { ParquetFooter } from "../../parquet/footer.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import type { ByteRange } from "./object_cache/byte_ranges.ts";
import type { Plan } from "../plan/plan.ts";
import type { KeptPages } from "./few_rows/kept_pages.ts";

/** Data files as all statements share them. */
export interface DataFiles {
  /**
   * Files for one statement, which disposes of the lease. `signal` ends its waits, with its reason.
   */
  lease(signal: AbortSignal): DataFileLease;
}

/** Data files as one statement has them, until it disposes of the lease. */
export interface DataFileLease extends Disposable {
  /** The warehouse, for the statement's reads of metadata. */
  readonly store: ReadableStore;
  /** The warehouse, for the statement's reads of sidecars of data files. */
  readonly indexStore: ReadableStore;
  /**
   * Local path that stands for a data file until the lease is disposed of. Nothing need be there
   * yet.
   */
  path(file: DataFile): string;
  /** The footer of a data file. Errors: the store's, and `corrupt`. */
  footer(file: DataFile): Promise<ParquetFooter>;
  /** Some bytes of a data file. Errors, also of its reads: the store's, and those of `bring`. */
  open(file: DataFile): Promise<OpenDataFile>;
  /** Sees to it that all paths of a plan exist, for a statement that is explained and not run. */
  name(plan: Plan): Promise<void>;
  /**
   * Sees to it that all that a scan of a plan reads is at its paths. The plan that is returned is
   * the one to scan: it may leave out rows that the plan's time ranges leave out. What a scan reads
   * of data files is held against its sums. Errors: the store's, `damaged_file`, `corrupt`,
   * `too_large`, `unavailable`.
   */
  bring(plan: Plan): Promise<Plan>;
  /** Bytes of a plan's data files that `bring` would ask the store for, about. */
  missingBytes(plan: Plan): number;
  /** What the statement asked the store for; undefined where that is not counted. */
  readonly reads: StoreReadsReport | undefined;
  /** Pages of data files that were read before; absent where none are kept. */
  readonly pages?: KeptPages;
  /**
   * Data files of which decoded columns were at hand, and the others; absent where none are kept.
   */
  readonly decoded?: FileCacheCounts;
}

/** A data file of which some bytes are read. */
export interface OpenDataFile extends AsyncDisposable {
  /** What is in each of the ranges, until the next call or the end. */
  read(ranges: readonly ByteRange[]): Promise<readonly Uint8Array[]>;
}

/** How many data files were at hand, and how many were not. */
export interface FileCacheCounts {
  readonly hits: number;
  readonly misses: number;
}

/** What a statement asked the store for: requests, files and bytes. */
export interface StoreReadsReport {
  readonly requests: number;
  readonly filesHit: number;
  readonly filesMissed: number;
  readonly bytes: Readonly<Record<"footer" | "index" | "data" | "other", number>>;
  readonly bytesFetched: number;
  /** What is waited for now while nothing comes. */
  readonly unanswered: UnansweredRead | undefined;
}

/** A read of the store that has not come for so many milliseconds. */
export interface UnansweredRead {
  /** Key of the object. */
  readonly key: string;
  readonly forMs: number;
}

/** Is told what a cache of an object store's files does. */
export interface ObjectCacheMeter {
  /** Tells how many bytes are held from now on. */
  held(bytes: number): void;
  /** Tells how many files were removed to make room. */
  evicted(files: number): void;
  /** Tells what a statement asked for that has ended, in whatever way. */
  statementEnded(reads: StoreReadsReport): void;
}

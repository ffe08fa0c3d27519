/**
 * A sparse local file that stands for one object. It is as long as the object, with the ranges that
 * were fetched and holes elsewhere. `object_cache.ts` decides who may read what of it.
 *
 * Its modification time tells one set of filled ranges from another: DuckDB keeps what it
 * read of a file for as long as that time stays.
 */

import type { File, FileSystem, ReadableFile } from "../../../os/file_system.ts";
import { VerifiedColumns } from "../verified/verified_columns.ts";
import { type ByteRange, RangeSet } from "./byte_ranges.ts";
import type { FileLayout } from "./file_layout.ts";
import type { StoreReads } from "./store_reads.ts";

/** A time long ago: DuckDB trusts nothing of a file that was changed within the last seconds. */
const MODIFIED_MS = 1_000_000_000_000;
const MODIFIED_STEP_MS = 1_000;

export type CacheFiles = Pick<
  FileSystem,
  "create" | "openAppend" | "openRead" | "remove" | "setModified"
>;

/** Where the file lies, and what numbers its fills. */
export interface CachedFileOptions {
  readonly path: string;
  readonly files: CacheFiles;
  /** Gives each fill a number, for all files together. */
  readonly nextFill: () => number;
  /** Settled when a former file of that path is removed. */
  readonly removal: Promise<void> | undefined;
}

/** A statement that wants something fetched. */
export interface FetchCaller {
  /** Callers with different names are served one after the other. */
  readonly name: string;
  readonly reads: StoreReads;
  /** Aborting it ends what was not asked for yet. */
  readonly signal: AbortSignal;
}

/** A read of a footer that is under way. */
export interface Loading {
  readonly caller: FetchCaller;
  readonly done: Promise<{ readonly layout: FileLayout; readonly wasMissing: boolean }>;
}

/** A range that is being fetched. */
export interface Flight {
  readonly range: ByteRange;
  readonly done: Promise<void>;
}

/** An object by its key, and its length in bytes. */
export interface CachedObject {
  readonly key: string;
  readonly byteLength: number;
}

/** The file of one object. Errors of its methods: the file system's. */
export class CachedFile {
  readonly filled = new RangeSet();
  /** What of that was held against its sums. */
  verified = new VerifiedColumns(Infinity);
  readonly flights = new Set<Flight>();
  /** How many statements read the file. It is removed only when there is none, and no flight. */
  leases = 0;
  /** The file's layout, which is kept for a while once the footer was read. */
  layout: FileLayout | undefined;
  /** Set while the footer is being read, for `caller`. */
  loading: Loading | undefined;
  #created: Promise<void> | undefined;
  #writer: Promise<File> | undefined;
  #writes = 0;
  /** Whether something was written since `settle`. */
  #isChanged = false;

  readonly path: string;
  readonly #files: CacheFiles;
  readonly #nextFill: () => number;
  readonly #removal: Promise<void> | undefined;

  constructor(readonly object: CachedObject, options: CachedFileOptions) {
    this.path = options.path;
    this.#files = options.files;
    this.#nextFill = options.nextFill;
    this.#removal = options.removal;
  }

  get isIdle(): boolean {
    return this.leases === 0 && this.flights.size === 0 && this.loading === undefined;
  }

  /** Makes the file as one hole, unless it is there. */
  create(): Promise<void> {
    this.#created ??= this.#create().catch((error) => {
      this.#created = undefined;
      throw error;
    });
    return this.#created;
  }

  async #create(): Promise<void> {
    await this.#removal;
    await using file = await this.#files.create(this.path);
    await file.truncate(this.object.byteLength);
    this.#isChanged = true;
  }

  /** Puts `bytes` at `offset`. The caller says what counts as filled. */
  async write(bytes: Uint8Array, offset: number): Promise<void> {
    await this.create();
    this.#writes += 1;
    this.#writer ??= this.#files.openAppend(this.path);
    const writer = this.#writer;
    try {
      const file = await writer;
      this.#isChanged = true;
      await file.writeAt(bytes, offset);
    } finally {
      this.#writes -= 1;
      if (this.#writes === 0) {
        this.#writer = undefined;
        await writer.then((file) => file.close(), () => {});
      }
    }
  }

  /**
   * Changes the modification time after fills. It is to be called before DuckDB opens the file,
   * when no flight of the caller is under way.
   */
  async settle(): Promise<void> {
    await this.create();
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const modifiedMs = MODIFIED_MS + this.#nextFill() * MODIFIED_STEP_MS;
    await this.#files.setModified(this.path, modifiedMs);
  }

  /** For reading bytes that were filled before. */
  open(): Promise<ReadableFile> {
    return this.#files.openRead(this.path);
  }

  /** Reads bytes that were filled before. */
  async read({ start, end }: ByteRange): Promise<Uint8Array<ArrayBuffer>> {
    await using file = await this.open();
    const bytes = new Uint8Array(end - start);
    const count = await file.readAt(bytes, start);
    return bytes.subarray(0, count);
  }

  async remove(): Promise<void> {
    if (this.#created === undefined) return;
    await this.#created;
    await this.#files.remove(this.path);
  }
}

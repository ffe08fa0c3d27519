/**
 * Data files of an object store as one statement sees them: it leases its files, and fetches what
 * it will read.
 */

import { present } from "../../../base/assert.ts";
import { isDamagedFile } from "../../../base/damaged_file.ts";
import type { Column } from "../../../schema/schema.ts";
import type { DataFile } from "../../../iceberg/types.ts";
import type { ParquetFooter } from "../../../parquet/footer.ts";
import type { SummedGroup } from "../../../parquet/sums.ts";
import type { ReadableStore } from "../../../storage/object_store.ts";
import { readBySteps, type ReadBytes } from "../../../storage/read_steps.ts";
import type { DataFileLease, DataFiles, ObjectCacheMeter, OpenDataFile } from "../data_files.ts";
import { partBytes, type Plan, type ScanPart } from "../../plan/plan.ts";
import { type ByteRange, joined, rangeBytes } from "./byte_ranges.ts";
import type { CachedFile, FetchCaller } from "./cached_file.ts";
import { fileError } from "./cache_error.ts";
import { countedStore } from "./counted_store.ts";
import type { FileLayout } from "./file_layout.ts";
import { untilAborted } from "../../../base/until_aborted.ts";
import { type ObjectCache, REQUEST_BYTES_MAX } from "./object_cache.ts";
import { verifyChunks } from "../verified/verify_chunks.ts";
import { isSettled, scannedParts } from "./scanned_parts.ts";
import { StoreReads } from "./store_reads.ts";

/** Data files of an object store, in one cache for all statements. */
export class CachedDataFiles implements DataFiles {
  #leases = 0;

  constructor(
    private readonly store: ReadableStore,
    private readonly cache: ObjectCache,
    private readonly meter?: Pick<ObjectCacheMeter, "statementEnded">,
  ) {}

  lease(signal: AbortSignal): DataFileLease {
    this.#leases += 1;
    const name = `statement-${this.#leases}`;
    return new CachedLease(this.store, this.cache, {
      name,
      signal,
      ended: (reads) => this.meter?.statementEnded(reads),
    });
  }
}

class CachedLease implements DataFileLease {
  readonly store: ReadableStore;
  readonly indexStore: ReadableStore;
  readonly reads = new StoreReads();
  readonly #cache: ObjectCache;
  readonly #signal: AbortSignal;
  readonly #caller: FetchCaller;
  readonly #ended = new AbortController();
  readonly #tellEnded: (reads: StoreReads) => void;
  /** Leased files by path. */
  readonly #files = new Map<string, { readonly cached: CachedFile; readonly file: DataFile }>();
  /** Paths by object key. */
  readonly #paths = new Map<string, string>();
  /** Files of which something was missing. */
  readonly #missed = new Set<CachedFile>();

  constructor(
    store: ReadableStore,
    cache: ObjectCache,
    { name, signal, ended: tell }: {
      readonly name: string;
      readonly signal: AbortSignal;
      readonly ended: (reads: StoreReads) => void;
    },
  ) {
    this.#tellEnded = tell;
    this.store = countedStore(store, this.reads, "other");
    this.indexStore = countedStore(store, this.reads, "index");
    this.#cache = cache;
    this.#signal = signal;
    const ended = AbortSignal.any([signal, this.#ended.signal]);
    this.#caller = { name, reads: this.reads, signal: ended };
  }

  path(file: DataFile): string {
    const known = this.#paths.get(file.key);
    if (known !== undefined) return known;
    // A plan that its statement did not wait for must not hold files that nobody gives back.
    this.#ended.signal.throwIfAborted();
    const cached = this.#cache.lease({ key: file.key, byteLength: file.byteLength });
    this.#files.set(cached.path, { cached, file });
    this.#paths.set(file.key, cached.path);
    return cached.path;
  }

  async footer(file: DataFile): Promise<ParquetFooter> {
    return (await untilAborted(this.#layout(this.path(file)), this.#signal)).footer;
  }

  open(file: DataFile): Promise<OpenDataFile> {
    return Promise.resolve({
      read: (ranges) => untilAborted(this.#read(file, ranges), this.#signal),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  }

  async name(plan: Plan): Promise<void> {
    const paths = [...partsByPath(plan).keys()];
    await untilAborted(Promise.all(paths.map((path) => this.#settle(path))), this.#signal);
  }

  bring(plan: Plan): Promise<Plan> {
    return untilAborted(this.#bring(plan), this.#signal);
  }

  missingBytes(plan: Plan): number {
    return this.#estimate(partsByPath(plan));
  }

  [Symbol.dispose](): void {
    this.#ended.abort(new Error("the statement ended"));
    this.#cache.release([...this.#files.values()].map(({ cached }) => cached));
    this.#files.clear();
    this.#tellEnded(this.reads);
  }

  async #read(file: DataFile, ranges: readonly ByteRange[]): Promise<readonly Uint8Array[]> {
    const path = this.path(file);
    const layout = await this.#layout(path);
    const { cached } = this.#leased(path);
    using _room = this.#cache.reserve(this.#missing(path, ranges), this.#own());
    await this.#fill(path, ranges, layout);
    try {
      return await Promise.all(ranges.map((range) => cached.read(range)));
    } catch (error) {
      throw fileError("read", path, error);
    }
  }

  async #bring(plan: Plan): Promise<Plan> {
    return plan.tables.every(isSettled)
      ? await this.#bringSettled(plan)
      : await this.#bringNarrowed(plan);
  }

  /**
   * Brings parts that stay what they are. Each file's chunks are asked for as soon as its footer
   * tells where they are.
   */
  async #bringSettled(plan: Plan): Promise<Plan> {
    const byPath = partsByPath(plan);
    using _room = this.#cache.reserve(this.#estimate(byPath), this.#own());
    await this.#all([...byPath], async ([path, parts]) => {
      const { byteLength } = this.#leased(path).file;
      const layout = await this.#layout(path, isNearlyWhole(parts, byteLength));
      await this.#fillVerified(path, parts, layout);
    });
    return plan;
  }

  /**
   * Brings parts that may be narrowed. Every footer comes first, so that it is known what is
   * needed. Then that is asked for, in the order of the plan.
   */
  async #bringNarrowed(plan: Plan): Promise<Plan> {
    const layouts = new Map<string, FileLayout>();
    const paths = [...partsByPath(plan).keys()];
    await this.#all(paths, async (path) => void layouts.set(path, await this.#layout(path)));
    const layoutOf = (path: string) => present(layouts.get(path), "a layout");
    const narrowed: Plan = {
      ...plan,
      tables: plan.tables.map((table) => ({ ...table, parts: scannedParts(table, layoutOf) })),
    };
    const wanted = [...partsByPath(narrowed)].map(([path, parts]) => {
      const layout = layoutOf(path);
      return { path, layout, parts, ranges: rangesOf(parts, layout) };
    });
    const missing = wanted.reduce((sum, { path, ranges }) => sum + this.#missing(path, ranges), 0);
    using _room = this.#cache.reserve(missing, this.#own());
    await this.#all(wanted, ({ path, parts, layout }) => this.#fillVerified(path, parts, layout));
    return narrowed;
  }

  /**
   * Fills what scans of `parts`, all of one file, read, and holds it against its sums. What is
   * damaged is asked for once more: it may have been damaged on its way.
   */
  async #fillVerified(
    path: string,
    parts: readonly FetchedPart[],
    layout: FileLayout,
  ): Promise<void> {
    const ranges = rangesOf(parts, layout);
    await this.#fill(path, ranges, layout);
    try {
      await this.#verify(path, parts, layout);
    } catch (error) {
      if (!isDamagedFile(error)) throw error;
      this.#cache.distrust(this.#leased(path).cached);
      await this.#fill(path, ranges, layout);
      await this.#verify(path, parts, layout);
    }
  }

  async #verify(path: string, parts: readonly FetchedPart[], layout: FileLayout): Promise<void> {
    const { cached, file } = this.#leased(path);
    await using held = new AsyncDisposableStack();
    let reads: Promise<ReadBytes> | undefined;
    const read = async (offset: number, length: number) => {
      try {
        reads ??= this.#cache.reads(cached, held);
        return await (await reads)(offset, length);
      } catch (error) {
        throw fileError("read", path, error);
      }
    };
    const groups = groupsOf(layout.footer);
    for (const { part, projected: columns } of parts) {
      const rows = part.range ?? { first: 0, end: file.rows };
      const { verified } = cached;
      const steps = verifyChunks({ key: file.key, groups, verified }, { columns, rows });
      await readBySteps(steps, read);
    }
  }

  async #fill(path: string, ranges: readonly ByteRange[], layout: FileLayout): Promise<void> {
    const { cached } = this.#leased(path);
    const call = { caller: this.#caller, layout };
    if (await this.#cache.fill(cached, ranges, call)) this.#missed.add(cached);
    await this.#settle(path);
    this.reads.file(!this.#missed.has(cached));
  }

  async #layout(path: string, isWhole = false): Promise<FileLayout> {
    const { cached, file } = this.#leased(path);
    const first = { tailBytes: tailBytes(file), isWhole };
    const { layout, wasMissing } = await this.#cache.layout(cached, first, this.#caller);
    if (wasMissing) this.#missed.add(cached);
    return layout;
  }

  async #settle(path: string): Promise<void> {
    const { cached } = this.#leased(path);
    try {
      await cached.settle();
    } catch (error) {
      throw fileError("write", path, error);
    }
  }

  #missing(path: string, ranges: readonly ByteRange[]): number {
    const { filled } = this.#leased(path).cached;
    return rangeBytes(ranges.flatMap((range) => filled.missing(range)));
  }

  /** How much will be missing. For files whose footer is not at hand, the manifests tell. */
  #estimate(byPath: ReadonlyMap<string, readonly FetchedPart[]>): number {
    return [...byPath].reduce((sum, [path, parts]) => {
      const { cached: { layout }, file: { byteLength } } = this.#leased(path);
      if (layout !== undefined) return sum + this.#missing(path, rangesOf(parts, layout));
      if (isNearlyWhole(parts, byteLength)) return sum + byteLength;
      return parts.reduce((own, { part, projected }) => own + partBytes(part, projected), sum);
    }, 0);
  }

  /** Errors: why the statement ended. What came for it meanwhile is not its own any more. */
  #leased(path: string): { readonly cached: CachedFile; readonly file: DataFile } {
    this.#ended.signal.throwIfAborted();
    return present(this.#files.get(path), "a leased file");
  }

  #own(): ReadonlySet<CachedFile> {
    return new Set([...this.#files.values()].map(({ cached }) => cached));
  }

  /**
   * Does `work` for each of `items` side by side. The first failure ends what the statement has not
   * asked for yet.
   */
  async #all<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    await Promise.all(items.map(async (item) => {
      try {
        await work(item);
      } catch (error) {
        this.#ended.abort(error);
        throw this.#ended.signal.reason;
      }
    }));
  }
}

/** The row groups of a footer, with the sums that it has of their chunks. */
function groupsOf({ rowGroups }: ParquetFooter): SummedGroup[] {
  return rowGroups.map(({ firstRow, rows, columns }) => ({
    firstRow,
    rows,
    chunk: (id) => {
      const chunk = columns.find(({ fieldId }) => fieldId === id);
      if (chunk?.sum === undefined) return undefined;
      return { offset: chunk.offset, byteLength: chunk.byteLength, sum: chunk.sum };
    },
  }));
}

interface FetchedPart {
  readonly part: ScanPart;
  readonly projected: readonly Column[];
}

/** The parts of data files, with the columns that are read of them. */
function partsByPath({ tables }: Plan): Map<string, FetchedPart[]> {
  const parts = tables.flatMap((table) =>
    table.parts.filter(({ origin }) => origin === "file")
      .map((part) => ({ part, projected: table.projected }))
  );
  return Map.groupBy(parts, ({ part }) => part.path);
}

/** The ranges that scans of `parts`, all of one file, read. No byte is in two of them. */
function rangesOf(parts: readonly FetchedPart[], layout: FileLayout): ByteRange[] {
  const ranges = parts.flatMap(({ part, projected }) => layout.scanned(projected, part.range));
  return joined(ranges, () => false);
}

/**
 * Whether a file is asked for whole, without waiting for its footer: one request takes it, and by
 * its manifest most of its bytes are needed.
 */
function isNearlyWhole(parts: readonly FetchedPart[], byteLength: number): boolean {
  if (byteLength > REQUEST_BYTES_MAX) return false;
  return parts.some(({ part, projected }) =>
    part.columnSizes.size > 0 && partBytes(part, projected) >= WHOLE_SHARE_MIN * byteLength
  );
}

/**
 * How many bytes of a file's end to ask for first. A small file is asked for whole, because a
 * request costs more than its bytes. Else this guesses the footer's length. Ours take 60 to 130
 * bytes for each chunk with 16 of its sums, and 1 KiB for the schema.
 */
function tailBytes({ byteLength, splitOffsets, columnSizes, lowerBounds }: DataFile): number {
  if (byteLength <= WHOLE_BYTES_MAX) return byteLength;
  const columns = Math.max(columnSizes.size, lowerBounds.size);
  if (columns === 0 || splitOffsets.length === 0) return TAIL_BYTES_UNKNOWN;
  return TAIL_BYTES_MIN + splitOffsets.length * columns * CHUNK_TAIL_BYTES;
}

const WHOLE_SHARE_MIN = 0.9;
const WHOLE_BYTES_MAX = 32 * 1024;
const TAIL_BYTES_UNKNOWN = 64 * 1024;
const TAIL_BYTES_MIN = 1280;
const CHUNK_TAIL_BYTES = 160;

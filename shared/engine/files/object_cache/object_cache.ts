/**
 * Parts of a warehouse's data files in a local directory, for a DuckDB that reads files by
 * itself.
 *
 * Invariants: a range counts as filled only after all its bytes were answered and written. A file
 * is removed only while no statement holds it and nothing of it is being fetched. A path always
 * stands for one object. One byte is asked for once at a time. Objects never change, so nothing
 * filled is ever stale. When all files hold more than `bytesMax`, files that no statement holds go,
 * the least recently used first; 0 keeps nothing. What running statements hold may exceed that, up
 * to `bytesInUseMax`.
 *
 * Not covered: what a statement needs (`file_layout.ts`, `cached_data_files.ts`); a restart, which
 * begins empty.
 */

import { createHash } from "node:crypto";
import { getLogger } from "@logtape/logtape";
import { BufferPool } from "../../../base/buffer_pool.ts";
import { freeBytes } from "../../../base/bytes.ts";
import { isOperatingError, messageOf } from "../../../base/errors.ts";
import { readFooter } from "../../../parquet/footer.ts";
import type { ReadableStore } from "../../../storage/object_store.ts";
import type { ReadBytes } from "../../../storage/read_steps.ts";
import { readingInto, SUM_BLOCK_BYTES } from "../../../storage/sum_of_range.ts";
import type { ObjectCacheMeter } from "../data_files.ts";
import { FOOTERS_KEPT_MAX } from "../../limits.ts";
import { type ByteRange, joined, pieces, rangeBytes } from "./byte_ranges.ts";
import {
  CachedFile,
  type CachedObject,
  type CacheFiles,
  type FetchCaller,
  type Flight,
} from "./cached_file.ts";
import { dataFileError, fileError, noRoom, shortObject } from "./cache_error.ts";
import { VerifiedColumns } from "../verified/verified_columns.ts";
import { FileLayout } from "./file_layout.ts";
import { RequestQueue } from "./request_queue.ts";

const log = getLogger(["svc", "engine"]);

/** Requests under way at a time, and the bytes that their responses may have in memory. */
const REQUESTS_MAX = 48;
const REQUESTS_BYTES_MAX = 64 * 2 ** 20;
/** Bytes of one request at most. More are asked for in several requests, side by side. */
export const REQUEST_BYTES_MAX = 4 * 2 ** 20;
/**
 * Two ranges are asked for as one when what lies between is less than this share of both, and no
 * more than so many bytes.
 */
const JOIN_SHARE_MAX = 1 / 10;
const JOIN_BYTES_MAX = 256 * 1024;
/** How often a response that is cut short is asked for again. */
const SHORT_ANSWERS_MAX = 1;
const NO_BYTES = { footer: 0, index: 0, data: 0, other: 0 };

/** Store and directory of the cache, and its bounds in bytes. */
export interface ObjectCacheOptions {
  readonly store: Pick<ReadableStore, "getRange">;
  readonly files: CacheFiles;
  /** Path of a directory that exists and is empty. */
  readonly dir: string;
  /** Bytes kept for later statements. */
  readonly bytesMax: number;
  /** Bytes that running statements may hold together. */
  readonly bytesInUseMax: number;
  readonly meter?: Pick<ObjectCacheMeter, "held" | "evicted">;
}

/** All files of one cache directory. */
export class ObjectCache {
  /** Files by path, least recently used first. */
  readonly #files = new Map<string, CachedFile>();
  readonly #blocks = new BufferPool();
  readonly #queue = new RequestQueue({
    requestsMax: REQUESTS_MAX,
    bytesMax: REQUESTS_BYTES_MAX,
  });
  /** Files whose layout is kept, least recently used first. */
  readonly #withLayout = new Set<CachedFile>();
  #bytes = 0;
  #bytesReserved = 0;
  #fills = 0;
  #filesEvicted = 0;
  /** Files that are being removed, by object key. */
  readonly #removals = new Map<string, Promise<void>>();

  constructor(private readonly options: ObjectCacheOptions) {}

  /** Bytes filled in all files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Files removed to make room since the start. */
  get filesEvicted(): number {
    return this.#filesEvicted;
  }

  /** The file for an object, which stays until it is released as often as it was leased. */
  lease(object: CachedObject): CachedFile {
    const { dir, files } = this.options;
    const file = this.#files.get(object.key) ?? new CachedFile(object, {
      path: `${dir}/${fileName(object.key)}`,
      files,
      nextFill: () => this.#fills += 1,
      removal: this.#removals.get(object.key),
    });
    this.#files.delete(object.key);
    this.#files.set(object.key, file);
    file.leases += 1;
    return file;
  }

  release(files: Iterable<CachedFile>): void {
    for (const file of files) file.leases -= 1;
    this.#trim();
  }

  /**
   * Reserves room for `bytes` more, given back by disposing. Errors: `too_large` when nobody else
   * holds anything (`own` are the caller's files), else `unavailable`.
   */
  reserve(bytes: number, own: ReadonlySet<CachedFile>): Disposable {
    const { bytesInUseMax } = this.options;
    const inUse = [...this.#files.values()].filter((file) => file.leases > 0);
    const held = inUse.reduce((sum, file) => sum + file.filled.bytes, 0);
    if (held + this.#bytesReserved + bytes > bytesInUseMax) {
      const isAlone = this.#bytesReserved === 0 &&
        inUse.every((file) => own.has(file) && file.leases === 1);
      throw noRoom(bytes, { isAlone, bytesInUseMax });
    }
    this.#bytesReserved += bytes;
    return { [Symbol.dispose]: () => void (this.#bytesReserved -= bytes) };
  }

  /**
   * Where everything lies in the object of a leased file. A footer is expected in the last
   * `tailBytes`; a longer one takes a second request. With `isWhole` the first request is for all
   * of the object. `wasMissing` says that the layout was not at hand. Errors: those of `fill`.
   */
  async layout(
    file: CachedFile,
    first: FirstRequest,
    caller: FetchCaller,
  ): Promise<{ readonly layout: FileLayout; readonly wasMissing: boolean }> {
    for (;;) {
      const known = file.layout;
      if (known !== undefined) {
        this.#keepLayout(file, known);
        return { layout: known, wasMissing: false };
      }
      file.loading ??= {
        caller,
        done: this.#loadLayout(file, first, caller).finally(() => file.loading = undefined),
      };
      const { done, caller: loader } = file.loading;
      try {
        return await caller.reads.awaiting(file.object.key, done);
      } catch (error) {
        // A statement that ended takes its own requests with it, not another's.
        if (loader === caller || !loader.signal.aborted) throw error;
      }
    }
  }

  /**
   * Fetches what is missing of `wanted` of a leased file. Returns whether anything was. Errors: the
   * store's; `corrupt` for an object that is shorter than it should be; `unavailable` when the
   * directory cannot be written.
   */
  fill(
    file: CachedFile,
    wanted: readonly ByteRange[],
    { caller, layout }: { readonly caller: FetchCaller; readonly layout: FileLayout },
  ): Promise<boolean> {
    return this.#fill(file, wanted, {
      caller,
      tell: (range) => caller.reads.fetched(layout.classify(range)),
    });
  }

  async #fill(file: CachedFile, wanted: readonly ByteRange[], call: Call): Promise<boolean> {
    let wasMissing = false;
    for (;;) {
      const missing = wanted.flatMap((range) => file.filled.missing(range));
      if (missing.length === 0) return wasMissing;
      wasMissing = true;
      call.caller.signal.throwIfAborted();
      const flights = [...file.flights].filter(({ range }) => missing.some(meets(range)));
      for (const range of requestsFor(file, missing)) flights.push(this.#fly(file, range, call));
      const landed = Promise.allSettled(flights.map(({ done }) => done));
      for (const outcome of await call.caller.reads.awaiting(file.object.key, landed)) {
        // What another statement gave up is asked for again.
        if (outcome.status === "rejected" && !(outcome.reason instanceof Abandoned)) {
          throw outcome.reason;
        }
      }
    }
  }

  async #loadLayout(
    file: CachedFile,
    { tailBytes: tailBytesMax, isWhole }: FirstRequest,
    caller: FetchCaller,
  ): Promise<{ readonly layout: FileLayout; readonly wasMissing: boolean }> {
    const { key, byteLength } = file.object;
    const fetched: ByteRange[] = [];
    let wasMissing = false;
    const bring = async (range: ByteRange) => {
      const call = { caller, tell: (own: ByteRange) => fetched.push(own) };
      wasMissing = await this.#fill(file, [range], call) || wasMissing;
    };
    const getRange = async (_key: string, offset: number, length: number) => {
      const range = { start: offset, end: offset + length };
      await bring(range);
      try {
        return await file.read(range);
      } catch (error) {
        throw fileError("read", file.path, error);
      }
    };
    try {
      if (isWhole) await bring({ start: 0, end: byteLength });
      const footer = await readFooter({ getRange }, key, byteLength, { tailBytesMax });
      const layout = new FileLayout(footer, byteLength);
      for (const range of fetched) caller.reads.fetched(layout.classify(range));
      this.#keepLayout(file, layout);
      return { layout, wasMissing };
    } catch (error) {
      caller.reads.fetched({ ...NO_BYTES, other: rangeBytes(fetched) });
      // The store may answer better the next time.
      if (isOperatingError(error, "corrupt")) this.distrust(file);
      throw error;
    }
  }

  #keepLayout(file: CachedFile, layout: FileLayout): void {
    file.layout = layout;
    this.#withLayout.delete(file);
    this.#withLayout.add(file);
    const [oldest] = this.#withLayout;
    if (this.#withLayout.size > FOOTERS_KEPT_MAX && oldest !== undefined) {
      oldest.layout = undefined;
      this.#withLayout.delete(oldest);
    }
  }

  /** Forgets what was fetched of a file: it is damaged, and is asked for again. */
  distrust(file: CachedFile): void {
    this.#hold(-file.filled.bytes);
    file.filled.clear();
    file.verified = new VerifiedColumns(Infinity);
  }

  /** Reads of what was filled, one at a time, into memory that `held` gives back. */
  async reads(file: CachedFile, held: AsyncDisposableStack): Promise<ReadBytes> {
    const opened = held.use(await file.open());
    const block = held.adopt(
      this.#blocks.take(SUM_BLOCK_BYTES),
      (block) => this.#blocks.give(block),
    );
    return readingInto(
      block,
      async (into, offset) => into.subarray(0, await opened.readAt(into, offset)),
    );
  }

  #fly(file: CachedFile, range: ByteRange, call: Call): Flight {
    const done = this.#queue.run(call.caller.name, range.end - range.start, async () => {
      if (call.caller.signal.aborted) throw new Abandoned();
      const bytes = await this.#ask(file.object, range, call);
      await this.#write(file, bytes, range);
      freeBytes(bytes);
      this.#hold(file.filled.add(range));
    }).finally(() => {
      file.flights.delete(flight);
      this.#trim();
    });
    // A caller that waits hears of a failure; one that has left does not.
    done.catch(() => {});
    const flight: Flight = { range, done };
    file.flights.add(flight);
    return flight;
  }

  async #ask(object: CachedObject, range: ByteRange, { caller, tell }: Call): Promise<Uint8Array> {
    const { start, end } = range;
    for (let attempt = 0;; attempt += 1) {
      caller.reads.request();
      const bytes = await this.#answer(object.key, range);
      tell({ start, end: start + bytes.byteLength });
      if (bytes.byteLength === end - start) return bytes;
      if (attempt === SHORT_ANSWERS_MAX) throw shortObject(object, range, bytes);
    }
  }

  async #answer(key: string, { start, end }: ByteRange): Promise<Uint8Array> {
    try {
      return await this.options.store.getRange(key, start, end - start);
    } catch (error) {
      throw dataFileError(error, key);
    }
  }

  /** Writes bytes. A disk that is full may have room once nothing idle is kept. */
  async #write(file: CachedFile, bytes: Uint8Array, { start }: ByteRange): Promise<void> {
    try {
      await file.write(bytes, start);
    } catch {
      await this.#evict(0);
      try {
        await file.write(bytes, start);
      } catch (error) {
        throw fileError("write", file.path, error);
      }
    }
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    this.options.meter?.held(this.#bytes);
  }

  #trim(): void {
    if (this.#bytes > this.options.bytesMax) void this.#evict(this.options.bytesMax);
  }

  /** Removes idle files until all hold at most `bytesMax`. */
  async #evict(bytesMax: number): Promise<void> {
    const gone: CachedFile[] = [];
    for (const file of this.#files.values()) {
      if (this.#bytes <= bytesMax) break;
      if (!file.isIdle) continue;
      this.#files.delete(file.object.key);
      this.#withLayout.delete(file);
      this.#hold(-file.filled.bytes);
      gone.push(file);
    }
    this.#filesEvicted += gone.length;
    this.options.meter?.evicted(gone.length);
    await Promise.all(gone.map((file) => this.#remove(file)));
  }

  async #remove(file: CachedFile): Promise<void> {
    const { path, object: { key } } = file;
    const removal = file.remove().catch((error) => {
      log.warn("cannot remove {path}: {error}", { path, error: messageOf(error) });
    });
    this.#removals.set(key, removal);
    await removal;
    if (this.#removals.get(key) === removal) this.#removals.delete(key);
  }
}

/**
 * The name of an object's file. DuckDB keeps something for each path that it ever read, so an
 * object has the same path each time. What DuckDB keeps of one object must never stand for another.
 */
function fileName(key: string): string {
  return `${createHash("sha256").update(key).digest("base64url")}.parquet`;
}

/** What to ask for while it is not known where anything lies. */
export interface FirstRequest {
  readonly tailBytes: number;
  readonly isWhole: boolean;
}

/** A caller, and what is told of each range that was answered. */
interface Call {
  readonly caller: FetchCaller;
  readonly tell: (range: ByteRange) => void;
}

/** Thrown inside for a request that was never made, because its statement had ended. */
class Abandoned extends Error {}

/** What to ask for so that `missing` is there, besides what is being fetched already. */
function requestsFor(file: CachedFile, missing: readonly ByteRange[]): ByteRange[] {
  const flying = [...file.flights].map(({ range }) => range);
  const free = missing.flatMap((range) => without(range, flying));
  const isUnknown = (gap: ByteRange) =>
    rangeBytes(file.filled.missing(gap)) === gap.end - gap.start && !flying.some(meets(gap));
  return joined(free, (left, right) => {
    const gap = { start: left.end, end: right.start };
    const share = rangeBytes([left, right]) * JOIN_SHARE_MAX;
    return gap.end - gap.start <= Math.min(share, JOIN_BYTES_MAX) && isUnknown(gap);
  }).flatMap((range) => pieces(range, REQUEST_BYTES_MAX));
}

function without(range: ByteRange, others: readonly ByteRange[]): ByteRange[] {
  return others.reduce<ByteRange[]>(
    (left, other) =>
      left.flatMap((one) =>
        [
          { start: one.start, end: Math.min(one.end, other.start) },
          { start: Math.max(one.start, other.end), end: one.end },
        ].filter(({ start, end }) => start < end)
      ),
    [range],
  );
}

function meets(range: ByteRange): (other: ByteRange) => boolean {
  return (other) => range.start < other.end && other.start < range.end;
}

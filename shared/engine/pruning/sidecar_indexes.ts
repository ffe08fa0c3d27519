/**
 * The indexes that lie in the sidecars of data files, with what is kept of them in memory.
 *
 * There are three caches. "Parsed" has footers of sidecars, headers of indexes, and filters.
 * "Answers" has short answers that were read for: they grow with the statements that are asked, and
 * the others with the files, so they are bounded by themselves. "Blobs" has the pieces of indexes
 * that lookups read. No data file changes, and a sidecar that is made anew has other keys here
 * (`files/sidecar_footers.ts`), so none is stale. What is missing or damaged is counted, and its
 * data file is read whole.
 */

import { isOperatingError } from "../../base/errors.ts";
import { memoize } from "../../base/memoize.ts";
import { runSteps, type Soon, soon, type SoonSteps } from "../../base/steps.ts";
import { type CacheMeter, type Weighed, WeighedCache } from "../../base/weighed_cache.ts";
import { findRows } from "../../derived/rows/find_rows.ts";
import type { IndexedFile, OpenedIndex } from "../../derived/rows/indexed_file.ts";
import type { RowQuery, RowSet } from "../../derived/rows/row_query.ts";
import type { BlobPlace } from "../../derived/puffin.ts";
import { readBlob, type Sidecar, sidecarKey } from "../../derived/sidecar.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { type ReadableStore, sharedRead } from "../../storage/object_store.ts";
import { type LookedUpSidecar, SidecarFooters } from "../files/sidecar_footers.ts";
import type { IndexCall, RowIndexes } from "./row_index.ts";

/**
 * Why an index was not used: there is no sidecar; it fails a check; the store does not give it; a
 * bug.
 */
export const UNUSABLE_REASONS = ["missing", "corrupt", "unavailable", "failed"] as const;
export type UnusableReason = typeof UNUSABLE_REASONS[number];

/** Is told what indexes do. */
export interface IndexMeter {
  readonly parsed: CacheMeter;
  readonly blobs: CacheMeter;
  /** A lookup in a data file ended with this answer. */
  answered(answer: RowSet["kind"]): void;
  unusable(reason: UnusableReason): void;
}

/** Sizes of the caches: docs/api/command_line.md#options-of-the-servers. 0 bytes keep nothing. */
export interface IndexCacheSizes {
  readonly parsedBytesMax: number;
  readonly blobBytesMax: number;
  readonly blobEntriesMax: number;
}

const ALL: RowSet = { kind: "all" };
/** What an entry takes besides its arrays. */
const ENTRY_BYTES = 256;
/** What an answer takes besides its array, with its key, which names a file and a question. */
const ANSWER_BYTES = 768;
/**
 * The rows of frequent words come to tens of MiB over all files. They would drive out each other,
 * and all else.
 */
const ANSWER_ARRAY_BYTES_MAX = 8 * 1024;
/** Answers have a quarter of the bytes of `parsedBytesMax`, and this at most. */
const ANSWERS_BYTES_MAX = 8 * 1024 ** 2;

/** Questions whose answers are found again. */
const QUERIES_KEPT_MAX = 1_024;

/** Bounds of the two caches in bytes, and what is told of them. */
export interface SidecarIndexesOptions {
  readonly nowMs: () => number;
  readonly meter?: IndexMeter;
}

/** The indexes of all sidecars of a warehouse. */
export class SidecarIndexes implements RowIndexes {
  /** Footers for readers of other data in the same sidecars. */
  readonly footers: SidecarFooters;
  readonly parsed: WeighedCache;
  readonly answers: WeighedCache;
  readonly blobs: WeighedCache;
  readonly #meter: IndexMeter | undefined;
  readonly #queryNumbers = new WeakMap<RowQuery, number>();
  #queries = 0;
  /** Numbers of questions by what they ask. One that was forgotten gets another number. */
  readonly #numberOf = memoize(QUERIES_KEPT_MAX, () => this.#queries += 1);

  constructor(
    { parsedBytesMax, blobBytesMax, blobEntriesMax }: IndexCacheSizes,
    { nowMs, meter }: SidecarIndexesOptions,
  ) {
    const told = (cache: CacheMeter | undefined) => cache === undefined ? {} : { meter: cache };
    const answersMax = Math.min(Math.floor(parsedBytesMax / 4), ANSWERS_BYTES_MAX);
    const both = meter === undefined ? undefined : {
      lookedUp: (outcome: "hit" | "miss") => meter.parsed.lookedUp(outcome),
      held: () => meter.parsed.held(this.parsed.bytes + this.answers.bytes),
    };
    this.parsed = new WeighedCache(parsedBytesMax - answersMax, told(both));
    this.answers = new WeighedCache(answersMax, told(both));
    this.blobs = new WeighedCache(blobBytesMax, {
      entriesMax: blobEntriesMax,
      ...told(meter?.blobs),
    });
    this.footers = new SidecarFooters(this.parsed, nowMs);
    this.#meter = meter;
  }

  rows(file: DataFile, query: RowQuery, call: IndexCall): Soon<RowSet> {
    return runSteps(this.#rows(file, query, call));
  }

  *#rows(file: DataFile, query: RowQuery, call: IndexCall): SoonSteps<RowSet> {
    try {
      const looked = this.#look(file, query, call);
      const answer = looked instanceof Promise
        ? yield* soon(sharedRead(call.store, sidecarKey(file.key), looked))
        : looked;
      this.#meter?.answered(answer.kind);
      return answer;
    } catch (error) {
      const reason = error instanceof Unusable ? error.reason : reasonOf(error);
      if (reason === "corrupt") this.footers.distrust(file);
      this.#meter?.unusable(reason);
      return error instanceof Unusable ? error.answer : ALL;
    }
  }

  #look(file: DataFile, query: RowQuery, call: IndexCall): Soon<RowSet> {
    return this.answers.take(
      `${file.key}\0${this.#queryNumber(query, call.schema)}`,
      () => runSteps(this.#find(file, query, call)),
    );
  }

  *#find(
    file: DataFile,
    query: RowQuery,
    { schema, store }: IndexCall,
  ): SoonSteps<Weighed<RowSet>> {
    const known = yield* soon(this.footers.take(store, file));
    if (known === undefined) throw new Unusable("missing", ALL);
    const own = new FileIndexes(known, { schema, rows: file.rows, store, caches: this });
    const answer = yield* soon(findRows(query, own));
    // This is not kept, so that each statement that goes without the index is counted.
    if (own.isDamaged) throw new Unusable("corrupt", answer);
    const bytes = bytesOf(answer);
    const isKept = own.hasRead && bytes <= ANSWER_ARRAY_BYTES_MAX;
    return { value: answer, bytes: ANSWER_BYTES + bytes, isKept };
  }

  /**
   * One number for one question of one set of columns. A statement asks all its files with one
   * query.
   */
  #queryNumber(query: RowQuery, schema: TableSchema): number {
    const known = this.#queryNumbers.get(query);
    if (known !== undefined) return known;
    const ids = new Map(schema.columns.map(({ name, id }) => [name, id]));
    const key = JSON.stringify(
      query,
      (member, value) => member === "column" ? ids.get(value) : value,
    );
    const number = this.#numberOf(key);
    this.#queryNumbers.set(query, number);
    return number;
  }
}

/** The indexes of one data file, for one lookup. */
class FileIndexes implements IndexedFile {
  readonly schema: TableSchema;
  readonly rows: number;
  readonly blobs: readonly BlobPlace[];
  isDamaged = false;
  hasRead = false;
  readonly #own: LookedUpSidecar;
  readonly #store: ReadableStore;
  readonly #caches: Pick<SidecarIndexes, "parsed" | "blobs">;

  constructor(
    own: LookedUpSidecar,
    { schema, rows, store, caches }: Pick<IndexedFile, "schema" | "rows"> & {
      readonly store: ReadableStore;
      readonly caches: Pick<SidecarIndexes, "parsed" | "blobs">;
    },
  ) {
    this.schema = schema;
    this.rows = rows;
    this.blobs = own.lookups;
    this.#own = own;
    this.#store = store;
    this.#caches = caches;
  }

  read(place: BlobPlace, part: { readonly offset: number; readonly length: number }) {
    this.hasRead = true;
    return this.#near(place.offset + part.offset, part.length) ?? this.#shared(place, part);
  }

  open<T extends OpenedIndex>(place: BlobPlace, load: () => Soon<T>): Soon<T> {
    return this.#caches.parsed.take(this.#keyOf(place), () => runSteps(weighed(load)));
  }

  damaged(): void {
    this.isDamaged = true;
  }

  #near(offset: number, length: number): Uint8Array | undefined {
    const { path } = this.#own;
    const bytes = path === undefined ? undefined : this.#store.rangeNow?.(path, offset, length);
    // The store tells what is wrong with a file that is too short.
    return bytes?.byteLength === length ? bytes : undefined;
  }

  #shared(
    place: BlobPlace,
    part: { readonly offset: number; readonly length: number },
  ): Promise<Uint8Array> {
    const { sidecar } = this.#own;
    const key = `${nameOf(sidecar)} ${place.offset + part.offset} ${part.length}`;
    return this.#caches.blobs.load(key, async () => {
      const value = await readBlob(this.#store, sidecar, { place, part });
      return { value, bytes: value.byteLength };
    });
  }

  #keyOf(place: BlobPlace): string {
    const known = OPEN_KEYS.get(place);
    if (known !== undefined) return known;
    const key = `${nameOf(this.#own.sidecar)}\0${place.offset}`;
    OPEN_KEYS.set(place, key);
    return key;
  }
}

/** Keys of opened indexes, by their places in footers that are held. */
const OPEN_KEYS = new WeakMap<BlobPlace, string>();

function* weighed<T extends OpenedIndex>(load: () => Soon<T>): SoonSteps<Weighed<T>> {
  const value = yield* soon(load());
  return { value, bytes: ENTRY_BYTES + value.byteLength };
}

/** Carries the answer that can be given without the index. */
class Unusable extends Error {
  constructor(readonly reason: UnusableReason, readonly answer: RowSet) {
    super(`an index is ${reason}`);
  }
}

/** A name of this very sidecar, whatever was under its key before. */
function nameOf({ key, checksum }: Sidecar): string {
  return `${key} ${checksum}`;
}

function reasonOf(error: unknown): UnusableReason {
  if (!isOperatingError(error)) return "failed";
  return error.code === "corrupt" ? "corrupt" : "unavailable";
}

function bytesOf(answer: RowSet): number {
  if (answer.kind === "rows") return answer.rows.byteLength;
  return answer.kind === "groups" ? answer.groups.byteLength : 0;
}

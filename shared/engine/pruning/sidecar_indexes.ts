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
import { type CacheMeter, WeighedCache } from "../../base/weighed_cache.ts";
import { findRows } from "../../derived/rows/find_rows.ts";
import type { OpenedIndex } from "../../derived/rows/indexed_file.ts";
import type { RowQuery, RowSet } from "../../derived/rows/row_query.ts";
import { readBlob, type Sidecar, sidecarKey } from "../../derived/sidecar.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { sharedRead } from "../../storage/object_store.ts";
import { SidecarFooters } from "../files/sidecar_footers.ts";
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
  readonly #queryKeys = new WeakMap<RowQuery, string>();

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

  async rows(file: DataFile, query: RowQuery, call: IndexCall): Promise<RowSet> {
    try {
      const answer = await sharedRead(
        call.store,
        sidecarKey(file.key),
        this.#look(file, query, call),
      );
      this.#meter?.answered(answer.kind);
      return answer;
    } catch (error) {
      const reason = error instanceof Unusable ? error.reason : reasonOf(error);
      if (reason === "corrupt") this.footers.distrust(file);
      this.#meter?.unusable(reason);
      return error instanceof Unusable ? error.answer : ALL;
    }
  }

  #look(file: DataFile, query: RowQuery, call: IndexCall): Promise<RowSet> {
    return this.answers.load(`${file.key} ${this.#queryKey(query, call.schema)}`, async () => {
      const { answer, hasRead } = await this.#find(file, query, call);
      const bytes = bytesOf(answer);
      const isKept = hasRead && bytes <= ANSWER_ARRAY_BYTES_MAX;
      return { value: answer, bytes: ANSWER_BYTES + bytes, isKept };
    });
  }

  async #find(
    file: DataFile,
    query: RowQuery,
    { schema, store }: IndexCall,
  ): Promise<{ readonly answer: RowSet; readonly hasRead: boolean }> {
    const sidecar = await this.footers.read(store, file);
    if (sidecar === undefined) throw new Unusable("missing", ALL);
    let isDamaged = false;
    let hasRead = false;
    const answer = await findRows(query, {
      schema,
      rows: file.rows,
      blobs: sidecar.blobs,
      read: (place, part) => {
        hasRead = true;
        return this.#read(sidecar, { place, part }, store);
      },
      open: (place, load) => this.#open(`${nameOf(sidecar)} ${place.offset}`, load),
      damaged: () => isDamaged = true,
    });
    // This is not kept, so that each statement that goes without the index is counted.
    if (isDamaged) throw new Unusable("corrupt", answer);
    return { answer, hasRead };
  }

  #open<T extends OpenedIndex>(key: string, load: () => Promise<T>): Promise<T> {
    return this.parsed.load(key, async () => {
      const value = await load();
      return { value, bytes: ENTRY_BYTES + value.byteLength };
    });
  }

  #read(
    sidecar: Sidecar,
    { place, part }: Required<Parameters<typeof readBlob>[2]>,
    store: IndexCall["store"],
  ): Promise<Uint8Array> {
    const key = `${nameOf(sidecar)} ${place.offset + part.offset} ${part.length}`;
    return this.blobs.load(key, async () => {
      const value = await readBlob(store, sidecar, { place, part });
      return { value, bytes: value.byteLength };
    });
  }

  /**
   * One key for one question of one set of columns. A statement asks all its files with one query.
   */
  #queryKey(query: RowQuery, schema: TableSchema): string {
    const known = this.#queryKeys.get(query);
    if (known !== undefined) return known;
    const ids = new Map(schema.columns.map(({ name, id }) => [name, id]));
    const key = JSON.stringify(
      query,
      (member, value) => member === "column" ? ids.get(value) : value,
    );
    this.#queryKeys.set(query, key);
    return key;
  }
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

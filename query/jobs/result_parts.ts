/**
 * Rows of large results in the warehouse: `<namespace>/job_results/<job id>-<part>.parquet`, a file
 * for each 16 MiB or so. A file has one column, `row`, each value of which is the JSON array that
 * the records response has for that row.
 *
 * The response must be the one that an interactive query gives, to the last digit. Columns of
 * DuckDB's own types would not do that: Parquet has no integers of 128 bits, no intervals of months
 * and days together, no unions.
 */

import { getLogger } from "@logtape/logtape";
import { counted } from "../../shared/base/counted.ts";
import { assert, present } from "../../shared/base/assert.ts";
import { messageOf } from "../../shared/base/errors.ts";
import { LateResource } from "../../shared/base/late_resource.ts";
import { totalRows } from "../../shared/base/total_rows.ts";
import { JOB_RESULTS_FOLDER } from "../../shared/catalog/job_store.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import { StringColumnBuilder } from "../../shared/columns/column_builders.ts";
import { ROW_ENDS } from "../../shared/engine/answer/render.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import type { ParquetEncoder } from "../../shared/parquet/parquet_encoder.ts";
import { readParquet } from "../../shared/parquet/read_parquet.ts";
import type { ObjectStore } from "../../shared/storage/object_store.ts";

/** What stands between two rows. */
export const ROW_JOINT = ROW_ENDS.array_lines;

const LINE_FEED = 0x0a;
const SCHEMA: TableSchema = {
  columns: [{ id: 1, name: "row", type: "string", required: true, doc: "a JSON array" }],
  tags: [],
};
const FILE_NAME = /^([0-9a-f-]{36})-([0-9]+)\.parquet$/;

/** Files of large results. Disposing it closes the warehouse. */
export interface ResultParts extends AsyncDisposable {
  /** Stores rows that each end with `ROW_JOINT`. Errors: the store's. */
  put(id: string, part: number, rows: readonly Uint8Array[]): Promise<void>;
  /** The joined rows of one file. Errors: the store's, `corrupt`. */
  get(id: string, part: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Removes what there is of these jobs. Errors: the store's. */
  discard(ids: readonly string[]): Promise<void>;
  /** Jobs that have a file which was written before `beforeMs`. Errors: the store's. */
  olderThan(beforeMs: number): Promise<string[]>;
}

/** The warehouse's store, and the thread that encodes files. */
export interface OpenParts extends AsyncDisposable {
  readonly store: ObjectStore;
  readonly encoder: ParquetEncoder;
}

/** Files of large results below one namespace of the warehouse. */
export class WarehouseParts implements ResultParts {
  readonly #opened: LateResource<OpenParts>;
  readonly #prefix: string;

  /** Opens the warehouse when it is first needed. */
  constructor(open: () => Promise<OpenParts>, options: { readonly namespace: string }) {
    this.#opened = new LateResource(open);
    this.#prefix = `${options.namespace}/${JOB_RESULTS_FOLDER}/`;
  }

  async put(id: string, part: number, rows: readonly Uint8Array[]): Promise<void> {
    const { store, encoder } = await this.#opened.get();
    // A file is kept for a day, and somebody waits while it is made and read: speed goes before
    // size.
    const options = { schema: SCHEMA, effort: "quick" } as const;
    using input = encoder.input([rowBatch(rows)], SCHEMA);
    const file = await encoder.encode(input, options);
    await store.putNew(this.#key(id, part), file.bytes);
  }

  async get(id: string, part: number): Promise<Uint8Array<ArrayBuffer>> {
    const { store } = await this.#opened.get();
    const key = this.#key(id, part);
    return joinedRows(await Array.fromAsync(readParquet(await store.get(key), key)));
  }

  async discard(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { store } = await this.#opened.get();
    for (const id of ids) {
      const keys: string[] = [];
      for await (const { key } of store.list(`${this.#prefix}${id}-`)) keys.push(key);
      if (keys.length > 0) await store.delete(keys);
    }
  }

  async olderThan(beforeMs: number): Promise<string[]> {
    const { store } = await this.#opened.get();
    const ids = new Set<string>();
    for await (const { key, modifiedMs } of store.list(this.#prefix)) {
      const id = FILE_NAME.exec(key.slice(this.#prefix.length))?.[1];
      if (id !== undefined && modifiedMs < beforeMs) ids.add(id);
    }
    return [...ids];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened[Symbol.asyncDispose]();
  }

  #key(id: string, part: number): string {
    return `${this.#prefix}${id}-${String(part).padStart(5, "0")}.parquet`;
  }
}

/**
 * Removes files that nobody needs any more; what cannot be removed now is found by the sweep for
 * leftovers.
 */
export async function discardQuietly(
  parts: Pick<ResultParts, "discard">,
  ids: readonly string[],
): Promise<void> {
  try {
    await parts.discard(ids);
  } catch (error) {
    getLogger(["svc", "query"]).warning("cannot remove results of {jobs}: {error}", {
      jobs: counted(ids.length, "job"),
      error: messageOf(error),
    });
  }
}

/** The rows, which each end with the joint, as values without it. */
function rowBatch(rows: readonly Uint8Array[]): ColumnBatch {
  const builder = new StringColumnBuilder();
  for (const bytes of rows) {
    for (let start = 0; start < bytes.byteLength;) {
      const end = bytes.indexOf(LINE_FEED, start) + 1;
      assert(end > 0, "every row ends with the joint");
      builder.bytes(bytes.subarray(start, end - ROW_JOINT.length));
      start = end;
    }
  }
  const count = builder.rows;
  return { schema: SCHEMA, rows: count, columns: [builder.finish()] };
}

function joinedRows(batches: readonly ColumnBatch[]): Uint8Array<ArrayBuffer> {
  const joint = new TextEncoder().encode(ROW_JOINT);
  const columns = batches.map((batch) => present(batch.columns[0]));
  const rows = totalRows(batches);
  const bytes = columns.reduce((sum, column) => sum + column.values.byteLength, 0);
  const joined = new Uint8Array(bytes + joint.byteLength * Math.max(0, rows - 1));
  let at = 0;
  for (const column of columns) {
    for (const value of valuesOf(column)) {
      if (at > 0) {
        joined.set(joint, at);
        at += joint.byteLength;
      }
      joined.set(value, at);
      at += value.byteLength;
    }
  }
  return joined;
}

function* valuesOf({ offsets, values }: ColumnData): Generator<Uint8Array> {
  const ends = present(offsets);
  for (let row = 0; row + 1 < ends.length; row += 1) {
    yield values.subarray(ends[row], ends[row + 1]);
  }
}

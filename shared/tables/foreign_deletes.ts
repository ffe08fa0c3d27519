/**
 * Rows that other engines deleted by delete files: which rows of a data file are gone. Iceberg
 * table specification, "Position Delete Files" and "Equality Delete Files". Which delete files
 * apply to which data file is `shared/iceberg/touched_files.ts`.
 *
 * Memory: one delete file's bytes and a row group of it, a bit for each row of the data files, and
 * the values of equality deletes; all bounded below.
 */

import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import {
  DELETE_COLUMN_IDS,
  type ForeignDelete,
  type TouchedFile,
} from "../iceberg/touched_files.ts";
import { parseFooter } from "../parquet/footer.ts";
import type { ParquetDecoder } from "../parquet/parquet_decoder.ts";
import { columnById, pathsOf, valueReader } from "./delete_values.ts";
import type { ReadableStore } from "../storage/object_store.ts";

/**
 * Whether the row at a place of `batch`, whose first is the file's `first`th, goes. Batches come in
 * the file's order.
 */
export type GoneRows = (batch: ColumnBatch, first: number) => (at: number) => boolean;

export interface ForeignDeleteDeps {
  readonly store: Pick<ReadableStore, "get">;
  readonly decoder: ParquetDecoder;
}

/** Bytes and rows of delete files that are read for some data files at most. */
const DELETE_BYTES_MAX = 128 * 1024 * 1024;
const DELETE_ROWS_MAX = 4_000_000;
/** Rows of equality deletes among them, whose values are held. */
const EQUALITY_ROWS_MAX = 500_000;

/** What delete files take out of a data file. */
export interface TouchedRows {
  readonly isGone: GoneRows;
  /** Rows that are gone by their places; values may take out more. */
  readonly places: number;
}

/**
 * Reads the delete files of some data files, each once. The function that is returned tells of each
 * of the data files which rows are gone. Errors: the store's; `corrupt`; `unimplemented`
 * (`delete_files`) when they are more than can be read at once; the signal's reason.
 */
export async function readForeignDeletes(
  deps: ForeignDeleteDeps,
  touched: readonly TouchedFile[],
  signal?: AbortSignal,
): Promise<(one: TouchedFile) => TouchedRows> {
  const deletes = [
    ...new Map(touched.flatMap((one) => one.deletes).map((one) => [one.key, one])).values(),
  ];
  refuseTooMuch(deletes);
  const positions = new Map<string, GonePlaces>();
  const values = new Map<string, GoneValues>();
  for (const one of deletes) {
    signal?.throwIfAborted();
    if (one.kind === "equality") {
      values.set(one.key, await readValues(deps, one));
      continue;
    }
    const named = touched.filter((file) => file.deletes.some(({ key }) => key === one.key));
    for (const { file } of named) {
      if (!positions.has(file.location)) positions.set(file.location, new GonePlaces(file.rows));
    }
    const wanted = new Map(
      named.map(({ file }) => [file.location, positions.get(file.location)] as const),
    );
    await readPositions(deps, one, wanted);
  }
  return ({ file, deletes: own }) => {
    const places = positions.get(file.location);
    const isGone = goneRows(places, own.flatMap(({ key }) => values.get(key) ?? []));
    return { isGone, places: places?.count ?? 0 };
  };
}

function goneRows(places: GonePlaces | undefined, values: readonly GoneValues[]): GoneRows {
  return (batch, first) => {
    const tests = values.map((one) => one.test(batch));
    return (at) => places?.has(first + at) === true || tests.some((isGone) => isGone(at));
  };
}

/** Places of rows in a data file, a bit for each of its rows. */
class GonePlaces {
  readonly #bits: Uint8Array;
  readonly #rows: number;
  #count = 0;

  constructor(rows: number) {
    this.#rows = rows;
    this.#bits = new Uint8Array(Math.ceil(rows / 8));
  }

  get count(): number {
    return this.#count;
  }

  /** A place that the file does not have takes nothing out. */
  add(place: number): void {
    if (place < 0 || place >= this.#rows || this.has(place)) return;
    const byte = Math.floor(place / 8);
    this.#bits[byte] = (this.#bits[byte] ?? 0) | (1 << place % 8);
    this.#count += 1;
  }

  has(place: number): boolean {
    return ((this.#bits[Math.floor(place / 8)] ?? 0) >> place % 8 & 1) === 1;
  }
}

/** Values of some columns: a row that has all of one entry is gone. Null is equal to null. */
class GoneValues {
  readonly #ids: readonly number[];
  readonly #keys: ReadonlySet<string>;

  constructor(ids: readonly number[], keys: ReadonlySet<string>) {
    this.#ids = ids;
    this.#keys = keys;
  }

  test(batch: ColumnBatch): (at: number) => boolean {
    const keyOf = keysOf(batch, this.#ids);
    return (at) => this.#keys.has(keyOf(at));
  }
}

function keysOf(batch: ColumnBatch, ids: readonly number[]): (at: number) => string {
  const readers = ids.map((id) => valueReader(batch, id));
  return (at) => readers.map((read) => read(at)).join("");
}

async function readValues(deps: ForeignDeleteDeps, one: ForeignDelete): Promise<GoneValues> {
  const ids = one.equalityIds;
  if (ids.length === 0) throw corruptDelete(one, "it names no column to compare");
  const keys = new Set<string>();
  for await (const batch of batchesOf(deps, one)) {
    for (const id of ids) {
      if (columnById(batch, id) === undefined) throw corruptDelete(one, `it lacks column ${id}`);
    }
    const keyOf = keysOf(batch, ids);
    for (let at = 0; at < batch.rows; at += 1) keys.add(keyOf(at));
  }
  return new GoneValues(ids, keys);
}

async function readPositions(
  deps: ForeignDeleteDeps,
  one: ForeignDelete,
  wanted: ReadonlyMap<string, GonePlaces | undefined>,
): Promise<void> {
  for await (const batch of batchesOf(deps, one)) {
    const path = columnById(batch, DELETE_COLUMN_IDS.path);
    const position = columnById(batch, DELETE_COLUMN_IDS.position);
    if (path?.column.type !== "string" || position?.column.type !== "long") {
      throw corruptDelete(one, "it lacks file_path or pos");
    }
    const { buffer, byteOffset, byteLength } = position.data.values;
    const places = new DataView(buffer, byteOffset, byteLength);
    const pathAt = pathsOf(path.data);
    for (let at = 0; at < batch.rows; at += 1) {
      wanted.get(pathAt(at))?.add(Number(places.getBigInt64(8 * at, true)));
    }
  }
}

async function* batchesOf(
  { store, decoder }: ForeignDeleteDeps,
  { key, rows }: ForeignDelete,
): AsyncGenerator<ColumnBatch> {
  const bytes = await store.get(key);
  const file = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  file.set(bytes);
  const { rowGroups, rows: found } = parseFooter(file, key);
  if (found !== rows) {
    throw corruptDelete({ key }, `it has ${found} rows, the table says ${rows}`);
  }
  for (const group of rowGroups.keys()) {
    const { batches } = await decoder.decode({ file, rowGroups: [group] }, key);
    for (const batch of batches) {
      yield batch;
      batch.release?.();
    }
  }
}

function refuseTooMuch(deletes: readonly ForeignDelete[]): void {
  const sum = (all: readonly ForeignDelete[], member: "rows" | "byteLength") =>
    all.reduce((total, one) => total + one[member], 0);
  const equality = deletes.filter(({ kind }) => kind === "equality");
  const isTooMuch = sum(deletes, "byteLength") > DELETE_BYTES_MAX ||
    sum(deletes, "rows") > DELETE_ROWS_MAX || sum(equality, "rows") > EQUALITY_ROWS_MAX;
  if (!isTooMuch) return;
  throw new OperatingError(
    "unimplemented",
    `Cannot apply ${deletes.length} delete files of another engine: they have ` +
      `${sum(deletes, "rows")} rows, ${sum(equality, "rows")} of them equality deletes; at most ` +
      `${DELETE_ROWS_MAX} and ${EQUALITY_ROWS_MAX} are read at once. Rewrite the data files with ` +
      "that engine (rewrite_data_files), or ask for a shorter time.",
    { reason: "delete_files" },
  );
}

function corruptDelete({ key }: Pick<ForeignDelete, "key">, why: string): OperatingError {
  return new OperatingError(
    "corrupt",
    `Cannot read delete file ${key}: ${why}. Rewrite the data files with the engine that wrote it.`,
    { reason: "delete_files" },
  );
}

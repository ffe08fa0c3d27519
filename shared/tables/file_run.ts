/**
 * A data file of a table as a sorted run: its row groups one after another, in the table's present
 * columns.
 *
 * Columns meet by field id, since the table's schema may have been widened or renamed after the
 * file was written. A column that the file lacks is null. While the rows of a group are worked on,
 * the next one is decoded.
 */

import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { nullColumn } from "../columns/null_column.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import type { DataFile, Table } from "../iceberg/types.ts";
import { completeColumnsOf } from "../iceberg/locations.ts";
import { parseFooter } from "../parquet/footer.ts";
import type { ParquetDecoder } from "../parquet/parquet_decoder.ts";
import { checkFile } from "../parquet/summed_places.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { SortedRun } from "./merge_runs.ts";

export interface FileRunDeps {
  readonly store: Pick<ReadableStore, "get">;
  readonly decoder: ParquetDecoder;
}

/** `file` must be sorted, and its manifest know its smallest time. */
export function fileRun(deps: FileRunDeps, table: Table, file: DataFile): SortedRun {
  const { timestampNsMin } = file;
  if (timestampNsMin === undefined) throw unmergeable(file, "its manifest has no bounds");
  return {
    name: file.key,
    startNs: timestampNsMin,
    batches: () => readBatches(deps, table, file),
  };
}

/**
 * Rows of `file` in the file's order, each batch a row group. Errors: the store's; `corrupt`,
 * `damaged_file`, `unprocessable`.
 */
export async function* readBatches(
  { store, decoder }: FileRunDeps,
  table: Pick<Table, "schema">,
  file: Pick<DataFile, "key" | "rows">,
): AsyncGenerator<ColumnBatch> {
  const bytes = shared(await store.get(file.key));
  const footer = parseFooter(bytes, file.key);
  const { rowGroups, rows } = footer;
  // Before its rows go into other files: what is damaged must not get new sums.
  checkFile(bytes, { key: file.key, footer });
  if (rows !== file.rows) {
    throw new OperatingError(
      "corrupt",
      `Cannot read ${file.key}: it has ${rows} rows, the table says ${file.rows}. Restore it from a copy.`,
    );
  }
  const decode = (group: number) => {
    const decoded = decoder.decode({ file: bytes, rowGroups: [group] }, file.key);
    // Taken at the await below; until then it must not count as unhandled.
    decoded.catch(() => {});
    return decoded;
  };
  let next = rowGroups.length === 0 ? undefined : decode(0);
  for (let group = 0; next !== undefined; group += 1) {
    const { batches, columns } = await next;
    next = group + 1 < rowGroups.length ? decode(group + 1) : undefined;
    const places = placesOf(table.schema, columns, file.key);
    const complete = completeColumnsOf(file.key);
    for (const batch of batches) {
      const own = inColumnsOf(table.schema, batch, places);
      requireValues(own, file.key);
      yield { ...own, complete };
    }
  }
}

/** In memory that a thread reads without a copy. */
function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  copy.set(bytes);
  return copy;
}

/** Where each column of the table is in the file; undefined: nowhere. */
function placesOf(
  schema: TableSchema,
  columns: readonly Column[],
  key: string,
): (number | undefined)[] {
  return schema.columns.map(({ id, name, type, required }) => {
    const at = columns.findIndex((column) => column.id === id);
    const found = columns[at];
    if (found === undefined) {
      if (!required) return undefined;
      throw unmergeable({ key }, `it lacks the required column ${name} (id ${id})`);
    }
    if (found.type === type) return at;
    throw unmergeable(
      { key },
      `its column ${name} (id ${id}) is ${found.type}, the table's ${type}`,
    );
  });
}

function inColumnsOf(
  schema: TableSchema,
  { rows, columns, release }: ColumnBatch,
  places: readonly (number | undefined)[],
): ColumnBatch {
  return {
    ...(release === undefined ? {} : { release }),
    schema,
    rows,
    columns: schema.columns.map(({ type }, at) =>
      columns[places[at] ?? -1] ?? nullColumn(type, rows)
    ),
  };
}

/** Other writers say of every column that it may be null; in a required one no value is. */
function requireValues({ schema, columns }: ColumnBatch, key: string): void {
  for (const [at, { name, id, required }] of schema.columns.entries()) {
    if (!required || columns[at]?.nullCount === 0) continue;
    throw unmergeable({ key }, `its column ${name} (id ${id}) has nulls, the table's may not`);
  }
}

function unmergeable({ key }: { readonly key: string }, why: string): OperatingError {
  return new OperatingError("unprocessable", `Cannot merge ${key}: ${why}`, {
    reason: "schema_mismatch",
  });
}

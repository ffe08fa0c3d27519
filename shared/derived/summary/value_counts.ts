/**
 * Counts by value of a column that has too many values for the summary: its distinct values and how
 * many rows have each. They are a Parquet file of its own within the sidecar, because DuckDB alone
 * reads them and adds up millions of them at a time. README.md has the layout, and what is left
 * out.
 */

import { totalRows } from "../../base/total_rows.ts";
import type { ColumnBatch, ColumnData } from "../../columns/batch.ts";
import { columnBuilderOf } from "../../columns/column_builders.ts";
import { putValue } from "../../columns/rows.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { encodeBatches } from "../../parquet/encode_parquet.ts";
import type { Blob } from "../types.ts";
import type { GroupCounts, GroupType, GroupValue } from "./summary_blobs.ts";
import { corruptSummary, SummaryReader, SummaryWriter } from "./summary_bytes.ts";
import { type ColumnPiece, ValueTable } from "./value_table.ts";

export const VALUE_COUNTS_BLOB = "svc-value-counts-v1";
export const TOP_VALUES_BLOB = "svc-top-values-v1";
/** Columns of the Parquet file. */
export const VALUE_COLUMN = "#summary value";
export const ROWS_COLUMN = "#summary rows";

/** Distinct values of a column in one file. */
export const VALUES_MAX = 2 ** 20;
/**
 * Values that are nearly as many as their rows say nothing that the column does not say in as many
 * bytes.
 */
const VALUES_PER_ROW_MAX = 7 / 8;
/** The most frequent values of a column whose counts are left out. */
const TOP_VALUES = 512;

/** Distinct values of a column, NULL among them, and their rows. */
export interface ValueCounts {
  readonly type: GroupType;
  readonly values: ColumnData;
  /** The rows of each value. */
  readonly rows: Int32Array;
}

/** The values of a column, and how many rows have each. */
export interface CountedValues {
  readonly table: ValueTable;
  /** The rows of each id of `table`, 0 for NULL. */
  readonly counts: Int32Array;
  readonly rows: number;
}

/** Undefined where the column is not counted so: too many values, or a double that is -0. */
export function countValues(
  type: GroupType,
  pieces: readonly ColumnPiece[],
): CountedValues | undefined {
  const table = new ValueTable(type, VALUES_MAX);
  const ids = pieces.map(({ rows }) => new Uint32Array(rows));
  if (!pieces.every((piece, at) => table.add(piece, ids[at] as Uint32Array))) return undefined;
  const counts = new Int32Array(table.size + 1);
  for (const list of ids) addCounts(counts, list);
  return { table, counts, rows: totalRows(pieces) };
}

function addCounts(counts: Int32Array, ids: Uint32Array): void {
  for (let row = 0; row < ids.length; row += 1) {
    const id = ids[row] as number;
    counts[id] = (counts[id] as number) + 1;
  }
}

/** The counts of values with more than `least` rows. NULL comes first, however few rows it has. */
function countsAbove(
  least: number,
  { table, counts }: CountedValues,
): ValueCounts {
  const ids: number[] = counts[0] === 0 ? [] : [0];
  for (let id = 1; id < counts.length; id += 1) if ((counts[id] as number) > least) ids.push(id);
  return {
    type: table.type,
    values: valuesOf(table, ids),
    rows: Int32Array.from(ids, (id) => counts[id] as number),
  };
}

/**
 * The counts of all values, or of the most frequent ones and NULL where those would be more than
 * `bytesMax`, or nearly as many as the rows.
 */
export function valueCountsBlob({ id }: Column, counted: CountedValues, bytesMax: number): Blob {
  const fields = [id];
  if (counted.table.size <= VALUES_PER_ROW_MAX * counted.rows) {
    const data = encodeValueCounts(countsAbove(0, counted));
    if (data.byteLength <= bytesMax) return { type: VALUE_COUNTS_BLOB, fields, data };
  }
  // So many values at most have more rows.
  const restMax = counted.counts.slice(1).sort().at(-1 - TOP_VALUES) ?? 0;
  const data = encodeValueCounts(countsAbove(restMax, counted), restMax);
  return { type: TOP_VALUES_BLOB, fields, data };
}

function encodeValueCounts(counts: ValueCounts, restMax = 0): Uint8Array {
  const writer = new SummaryWriter();
  writer.varint(counts.rows.length);
  writer.varint(restMax);
  writer.bytes(valueCountsParquet(counts));
  return writer.finish();
}

/** A Parquet file of `VALUE_COLUMN` and `ROWS_COLUMN`. */
export function valueCountsParquet({ type, values, rows }: ValueCounts): Uint8Array {
  const schema: TableSchema = {
    columns: [
      { id: 1, name: VALUE_COLUMN, type, required: false },
      { id: 2, name: ROWS_COLUMN, type: "int", required: true },
    ],
    tags: [],
  };
  const batch: ColumnBatch = {
    schema,
    rows: rows.length,
    columns: [values, {
      validity: null,
      nullCount: 0,
      offsets: null,
      values: new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength),
    }],
  };
  return encodeBatches([batch], { schema });
}

/** What a blob of either type holds. */
export interface StoredCounts {
  /** Rows of `parquet`. */
  readonly entries: number;
  /**
   * A value that is not listed has this many rows at most. 0 in `VALUE_COUNTS_BLOB`, which lists
   * all.
   */
  readonly restMax: number;
  readonly parquet: Uint8Array;
}

/** Errors: `corrupt`. */
export function decodeValueCounts(blob: Uint8Array): StoredCounts {
  const reader = new SummaryReader(blob);
  const entries = reader.varint();
  const restMax = reader.varint();
  const parquet = reader.rest();
  if (parquet.byteLength === 0) throw corruptSummary("it holds no file of values");
  return { entries, restMax, parquet };
}

/** Counts of a column that has few values, in the same form as those of one that has many. */
export function fewValueCounts({ type, values, counts }: GroupCounts): ValueCounts {
  const ids = Array.from(values.keys()).filter((id) => counts[id] !== 0);
  const builder = columnBuilderOf(type);
  for (const id of ids) putValue(builder, typedValue(type, values[id] ?? null));
  return { type, values: builder.finish(), rows: Int32Array.from(ids, (id) => counts[id] ?? 0) };
}

function typedValue(type: GroupType, value: GroupValue): string | bigint | number | boolean | null {
  if (value === null || type === "string") return value;
  if (type === "long") return BigInt(value);
  return type === "bool" ? value === "true" : Number(value);
}

function valuesOf(table: ValueTable, ids: readonly number[]): ColumnData {
  const offsets = new Int32Array(ids.length + 1);
  ids.forEach((id, at) => offsets[at + 1] = (offsets[at] as number) + table.byteLength(id));
  const isText = table.type === "string";
  const width = table.type === "int" ? 4 : 8;
  const values = new Uint8Array(isText ? offsets[ids.length] as number : width * ids.length);
  ids.forEach((id, at) => {
    if (id !== 0) values.set(table.bytes(id), isText ? offsets[at] : width * at);
  });
  const hasNull = ids[0] === 0;
  const validity = hasNull ? new Uint8Array((ids.length + 7) >> 3).fill(255) : null;
  if (validity !== null) validity[0] = 0xfe;
  return { validity, nullCount: hasNull ? 1 : 0, offsets: isText ? offsets : null, values };
}

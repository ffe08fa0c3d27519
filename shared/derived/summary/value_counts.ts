/**
 * Counts by value of a column that has too many values for the summary: its distinct values and how many rows have each,
 * as a Parquet file of its own within the sidecar. Nobody else reads them than the SQL engine, which adds up millions of
 * them at a time, so they lie there in its own form. README.md has the layout, and what is left out.
 */

import type { ColumnBatch, ColumnData } from "../../columns/batch.ts";
import { columnBuilderOf } from "../../columns/column_builders.ts";
import { putValue } from "../../columns/rows.ts";
import type { Column, TableSchema } from "../../event/schema.ts";
import { encodeParquet } from "../../parquet/encode_parquet.ts";
import { parquetInput } from "../../parquet/parquet_input.ts";
import type { Blob } from "../types.ts";
import type { GroupCounts, GroupType, GroupValue } from "./summary_blobs.ts";
import { corruptSummary, SummaryReader, SummaryWriter } from "./summary_bytes.ts";
import { type ColumnPiece, ValueTable } from "./value_table.ts";

export const VALUE_COUNTS_BLOB = "svc-value-counts-v1";
/** Columns of the Parquet file. */
export const VALUE_COLUMN = "#summary value";
export const ROWS_COLUMN = "#summary rows";

/** Distinct values of a column in one file. */
const VALUES_MAX = 2 ** 20;
/** Values that are nearly as many as their rows say nothing that the column does not say in as many bytes. */
const VALUES_PER_ROW_MAX = 7 / 8;
/** Entries of a blob, which its place in the sidecar tells before it is read. */
const ENTRIES_PROPERTY = "svc.entries";

/** The distinct values of a column, NULL among them, and their rows. */
export interface ValueCounts {
  readonly type: GroupType;
  readonly values: ColumnData;
  /** Of each value. */
  readonly rows: Int32Array;
}

/** Undefined where the column is not counted so: too many values, or a double that is -0. */
export function countValues(
  type: GroupType,
  pieces: readonly ColumnPiece[],
): ValueCounts | undefined {
  const total = pieces.reduce((sum, { rows }) => sum + rows, 0);
  const table = new ValueTable(type, Math.min(VALUES_MAX, Math.floor(total * VALUES_PER_ROW_MAX)));
  const ids = pieces.map(({ rows }) => new Uint32Array(rows));
  if (!pieces.every((piece, at) => table.add(piece, ids[at] as Uint32Array))) return undefined;
  const counts = new Int32Array(table.size + 1);
  for (const list of ids) for (const id of list) counts[id] = (counts[id] as number) + 1;
  return { type, values: valuesOf(table, counts[0] !== 0), rows: withoutAbsent(counts) };
}

/** Undefined where it would be larger than `bytesMax`. */
export function valueCountsBlob(
  { id }: Column,
  counts: ValueCounts,
  bytesMax: number,
): Blob | undefined {
  const entries = counts.rows.length;
  const writer = new SummaryWriter();
  writer.varint(entries);
  writer.bytes(valueCountsParquet(counts));
  const data = writer.finish();
  if (data.byteLength > bytesMax) return undefined;
  return {
    type: VALUE_COUNTS_BLOB,
    fields: [id],
    data,
    properties: { [ENTRIES_PROPERTY]: String(entries) },
  };
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
  return encodeParquet(parquetInput([batch], schema).stream, { schema, compression: "zstd" });
}

/** The Parquet file in a blob, and its number of rows. Errors: `corrupt`. */
export function decodeValueCounts(
  blob: Uint8Array,
): { readonly entries: number; readonly parquet: Uint8Array } {
  const reader = new SummaryReader(blob);
  const entries = reader.varint();
  const parquet = reader.rest();
  if (parquet.byteLength === 0) throw corruptSummary("it holds no file of values");
  return { entries, parquet };
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

/** What the footer of a sidecar tells of a blob. */
export function entriesOf(properties: Readonly<Record<string, string>>): number {
  return Number(properties[ENTRIES_PROPERTY] ?? 0);
}

/** In order of ids, NULL first where there is one. */
function valuesOf(table: ValueTable, hasNull: boolean): ColumnData {
  const first = hasNull ? 0 : 1;
  const count = table.size + 1 - first;
  const offsets = new Int32Array(count + 1);
  for (let at = 0; at < count; at += 1) {
    offsets[at + 1] = (offsets[at] as number) + table.byteLength(first + at);
  }
  const isText = table.type === "string";
  const width = table.type === "int" ? 4 : 8;
  const values = new Uint8Array(isText ? offsets[count] as number : width * count);
  for (let at = hasNull ? 1 : 0; at < count; at += 1) {
    values.set(table.bytes(first + at), isText ? offsets[at] : width * at);
  }
  const validity = hasNull ? new Uint8Array((count + 7) >> 3).fill(255) : null;
  if (validity !== null) validity[0] = 0xfe;
  return { validity, nullCount: hasNull ? 1 : 0, offsets: isText ? offsets : null, values };
}

function withoutAbsent(counts: Int32Array): Int32Array {
  return counts[0] === 0 ? counts.slice(1) : counts;
}

/** What Iceberg wants to know of a Parquet file, from its footer. */

import { assert } from "../base/assert.ts";
import { viewOf } from "../base/bytes.ts";
import type { WordsColumn } from "../schema/row_words.ts";
import type { Column, ColumnType, TableSchema } from "../schema/schema.ts";
import { type ParquetFooter, parseFooter } from "./footer.ts";

/**
 * Counts and bounds are by Iceberg field id; bounds in single-value serialization, not cut to
 * Iceberg's length.
 */
export interface ParquetFile {
  readonly bytes: Uint8Array;
  readonly rows: number;
  readonly footer: ParquetFooter;
  readonly columnSizes: ReadonlyMap<number, number>;
  readonly valueCounts: ReadonlyMap<number, number>;
  readonly nullCounts: ReadonlyMap<number, number>;
  readonly lowerBounds: ReadonlyMap<number, Uint8Array>;
  readonly upperBounds: ReadonlyMap<number, Uint8Array>;
  /** First byte of each row group. */
  readonly splitOffsets: readonly number[];
}

/** The file `bytes`, just written with the columns of `schema` and all of `rows` rows. */
export function describeParquet(
  bytes: Uint8Array,
  { schema, rows, words = [] }: {
    readonly schema: TableSchema;
    readonly rows: number;
    /** Columns behind those of `schema`, of which nothing but their size is told. */
    readonly words?: readonly WordsColumn[] | undefined;
  },
): ParquetFile {
  const footer = parseFooter(bytes, "the file just written");
  assert(footer.rows === rows, `wrote ${footer.rows} of ${rows} rows`);
  const summary = summaryOf(footer, schema);
  const columnSizes = new Map(summary.columnSizes);
  words.forEach(({ column }, at) => {
    const chunks = chunksOf(footer, column, schema.columns.length + at);
    columnSizes.set(column.id, sum(chunks.map((chunk) => chunk.byteLength)));
  });
  return { bytes, rows, footer, ...summary, columnSizes };
}

/** The chunks of the column at that place. */
function chunksOf({ rowGroups }: ParquetFooter, { id, name }: Column, at: number) {
  const chunks = rowGroups.flatMap((group) => group.columns[at] ?? []);
  assert(chunks.every(({ fieldId }) => fieldId === id), `field id of ${name}`);
  return chunks;
}

type Summary = Omit<ParquetFile, "bytes" | "rows" | "footer">;

/** Adds up the row groups. A bound is known only when every group with values records it. */
function summaryOf(footer: ParquetFooter, schema: TableSchema): Summary {
  const columnSizes = new Map<number, number>();
  const valueCounts = new Map<number, number>();
  const nullCounts = new Map<number, number>();
  const lowerBounds = new Map<number, Uint8Array>();
  const upperBounds = new Map<number, Uint8Array>();
  schema.columns.forEach((column, at) => {
    const chunks = chunksOf(footer, column, at);
    const nulls = chunks.map((chunk) => chunk.nulls ?? 0);
    columnSizes.set(column.id, sum(chunks.map((chunk) => chunk.byteLength)));
    valueCounts.set(column.id, sum(chunks.map((chunk) => chunk.values)));
    nullCounts.set(column.id, sum(nulls));
    const filled = chunks.filter((chunk) => chunk.values > (chunk.nulls ?? 0));
    const order = comparisonOf(column.type);
    const lower = extreme(filled.map((chunk) => chunk.min), (a, b) => order(a, b) < 0);
    const upper = extreme(filled.map((chunk) => chunk.max), (a, b) => order(a, b) > 0);
    if (lower !== undefined) lowerBounds.set(column.id, lower);
    if (upper !== undefined) upperBounds.set(column.id, upper);
  });
  const splitOffsets = footer.rowGroups.map((group) => group.offset);
  return { columnSizes, valueCounts, nullCounts, lowerBounds, upperBounds, splitOffsets };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function extreme(
  values: readonly (Uint8Array | undefined)[],
  isBetter: (candidate: Uint8Array, best: Uint8Array) => boolean,
): Uint8Array | undefined {
  let best: Uint8Array | undefined;
  for (const value of values) {
    if (value === undefined) return undefined;
    if (best === undefined || isBetter(value, best)) best = value;
  }
  return best;
}

type Comparison = (a: Uint8Array, b: Uint8Array) => number;

/** Order of values in plain encoding. */
function comparisonOf(type: ColumnType): Comparison {
  switch (type) {
    case "timestamptz":
    case "long":
      return byNumber((view) => view.getBigInt64(0, true));
    case "int":
      return byNumber((view) => view.getInt32(0, true));
    case "double":
      return byNumber((view) => view.getFloat64(0, true));
    case "bool":
    case "string":
      return byBytes;
  }
}

function byNumber(read: (view: DataView) => bigint | number): Comparison {
  const valueOf = (bytes: Uint8Array) => read(viewOf(bytes));
  return (a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  };
}

/** UTF-8 bytes sort as their code points do. */
function byBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/**
 * Batches as row objects, and back: for tests, tail streams and other cold paths. Not for the hot
 * path.
 */

import { assert, present, unreachable } from "../base/assert.ts";
import { textOf, viewOf } from "../base/bytes.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import type { ColumnBatch, ColumnData } from "./batch.ts";
import {
  type ColumnBuilder,
  columnBuilderOf,
  Int64ColumnBuilder,
  NumberColumnBuilder,
  StringColumnBuilder,
} from "./column_builders.ts";

/** `timestamptz` (microseconds) and `long` are bigint, `double` and `int` number. */
export type ColumnValue = bigint | number | string | boolean | null;
export type RowObject = Readonly<Record<string, ColumnValue>>;

/** The rows of a batch, in order; keys in the schema's order. */
export function rowsOf(batch: ColumnBatch): RowObject[] {
  return rowsBetween(batch, 0, batch.rows);
}

/** Rows of `batch` from `from` to before `to`, as objects. */
export function rowsBetween(batch: ColumnBatch, from: number, to: number): RowObject[] {
  const rows: Record<string, ColumnValue>[] = Array.from({ length: to - from }, () => ({}));
  batch.schema.columns.forEach((column, i) => {
    const data = present(batch.columns[i]);
    const view = viewOf(data.values);
    rows.forEach((row, at) => {
      const value = isNull(data, from + at) ? null : valueAt({ column, data, view }, from + at);
      row[column.name] = value;
    });
  });
  return rows;
}

/** The batch with only the columns of these names, those that it has. */
export function narrowed(batch: ColumnBatch, names: readonly string[]): ColumnBatch {
  const { schema: { columns, tags }, rows } = batch;
  const kept = columns.flatMap((column, at) => names.includes(column.name) ? [{ column, at }] : []);
  return {
    schema: { columns: kept.map(({ column }) => column), tags },
    rows,
    columns: kept.map(({ at }) => present(batch.columns[at])),
  };
}

/** A batch with these rows; a member that a row lacks is null. */
export function batchOfRows(schema: TableSchema, rows: readonly RowObject[]): ColumnBatch {
  const builder = new RowsBuilder(schema);
  for (const row of rows) builder.add(row);
  return builder.finish();
}

/** Makes objects row by row. */
export class RowsBuilder {
  readonly #schema: TableSchema;
  readonly #builders: readonly ReturnType<typeof columnBuilderOf>[];
  #rows = 0;

  constructor(schema: TableSchema) {
    this.#schema = schema;
    this.#builders = schema.columns.map(({ type }) => columnBuilderOf(type));
  }

  add(row: RowObject): void {
    this.#schema.columns.forEach((column, at) => {
      const value = row[column.name] ?? null;
      assert(value !== null || !column.required, `required column ${column.name} has a null`);
      putValue(present(this.#builders[at]), value);
    });
    this.#rows += 1;
  }

  /** The batch; to be called once. */
  finish(): ColumnBatch {
    const columns = this.#builders.map((builder) => builder.finish());
    return { schema: this.#schema, rows: this.#rows, columns };
  }
}

/** Appends a value of the builder's type. */
export function putValue(builder: ColumnBuilder, value: ColumnValue): void {
  if (value === null) builder.null();
  else if (builder instanceof StringColumnBuilder) builder.text(String(value));
  else if (builder instanceof Int64ColumnBuilder) builder.bigint(BigInt(value));
  else if (builder instanceof NumberColumnBuilder) builder.number(Number(value));
}

/** Whether the column has no value in this row. */
export function isNull(data: ColumnData, row: number): boolean {
  return data.validity !== null && ((data.validity[row >> 3] as number) & (1 << (row & 7))) === 0;
}

interface Cell {
  readonly column: Column;
  readonly data: ColumnData;
  readonly view: DataView;
}

function valueAt({ column, data, view }: Cell, row: number): ColumnValue {
  switch (column.type) {
    case "timestamptz":
    case "long":
      return view.getBigInt64(8 * row, true);
    case "double":
      return view.getFloat64(8 * row, true);
    case "int":
      return view.getInt32(4 * row, true);
    case "bool":
      return (view.getUint8(row >> 3) & (1 << (row & 7))) !== 0;
    case "string":
      return textOf(data.values.subarray(data.offsets?.[row], data.offsets?.[row + 1]));
    default:
      return unreachable(column.type);
  }
}

/**
 * What a message leaves out of a batch because the rest tells it. WAL frames are written so. Arrow
 * has no such form: other readers take what `decodeBatch` gives, written again by `encodeColumns`.
 *
 * The length of a column's field node says how it is stored, in a batch of two rows and more:
 *
 *     as many as the batch has rows   plain, as Arrow has it
 *     1                               one row, whose value or null every row has
 *     0                               nothing: `timestamp`, the microseconds of `timestamp_ns`
 *
 * A `bool` column takes a bit a row and stays plain, unless all of it is null.
 */

import { Buffer } from "node:buffer";
import { OperatingError } from "../base/errors.ts";
import type { ColumnType, TableSchema } from "../schema/schema.ts";
import type { ColumnBatch, ColumnData } from "./batch.ts";
import { COLUMN_BYTES_MAX } from "./byte_builder.ts";
import { nullColumn } from "./null_column.ts";
import { halvesOf } from "./timestamps.ts";

/** A column as a message holds it: `rows` is the length of its field node. */
export interface StoredColumn {
  readonly rows: number;
  readonly data: ColumnData;
}

const CONSTANT_ROWS = 1;
const DERIVED_ROWS = 0;

/** The columns of `batch`, each in its shortest form. */
export function compactColumns({ schema, rows, columns }: ColumnBatch): readonly StoredColumn[] {
  if (rows < 2) return columns.map((data) => ({ rows, data }));
  const derived = derivedColumnOf(schema);
  return columns.map((data, i): StoredColumn => {
    const source = i === derived?.at ? columns[derived.from] : undefined;
    if (source !== undefined && isMicrosOf(data, source, rows)) {
      return { rows: DERIVED_ROWS, data: NO_ROWS };
    }
    const value = constantOf(data, schema.columns[i]?.type, rows);
    return value === undefined ? { rows, data } : { rows: CONSTANT_ROWS, data: value };
  });
}

/** Whether a message may hold `stored` rows of column `at` of a batch of `rows`. */
export function isStoredForm(
  stored: number,
  at: number,
  batch: Pick<ColumnBatch, "schema" | "rows">,
) {
  if (stored === batch.rows) return true;
  if (batch.rows < 2) return false;
  return stored === CONSTANT_ROWS ||
    (stored === DERIVED_ROWS && derivedColumnOf(batch.schema)?.at === at);
}

/** All rows of columns whose forms `isStoredForm` allows. Throws `corrupt`. */
export function expandColumns(
  schema: TableSchema,
  rows: number,
  stored: readonly StoredColumn[],
): readonly ColumnData[] {
  const columns = stored.map((column, i) =>
    column.rows === CONSTANT_ROWS && rows > CONSTANT_ROWS
      ? repeated(column.data, schema.columns[i]?.type ?? "string", rows)
      : column.data
  );
  const derived = derivedColumnOf(schema);
  if (derived === undefined || rows < 2 || stored[derived.at]?.rows !== DERIVED_ROWS) {
    return columns;
  }
  const source = columns[derived.from];
  if (source === undefined || source.nullCount > 0) {
    throw corrupt("timestamp is left to timestamp_ns, which has nulls");
  }
  return columns.with(derived.at, microsOf(source, rows));
}

const NO_ROWS: ColumnData = {
  validity: null,
  nullCount: 0,
  offsets: null,
  values: new Uint8Array(),
};

/** Where the column is that follows from another one, and where that one. */
function derivedColumnOf({ columns }: TableSchema): { at: number; from: number } | undefined {
  const at = columns.findIndex(({ name, type }) => name === "timestamp" && type === "timestamptz");
  const from = columns.findIndex(({ name, type }) => name === "timestamp_ns" && type === "long");
  return at < 0 || from < 0 ? undefined : { at, from };
}

function isMicrosOf(data: ColumnData, source: ColumnData, rows: number): boolean {
  if (data.nullCount > 0 || source.nullCount > 0) return false;
  const nanos = halvesOf(source, rows);
  const micros = halvesOf(data, rows);
  for (let at = 0; at < 2 * rows; at += 2) {
    const high = nanos[at + 1] as number;
    if (highMicros(high) !== micros[at + 1]) return false;
    if (lowMicros(nanos[at] as number, high) !== micros[at]) return false;
  }
  return true;
}

/** Each value divided by 1,000, rounded down. */
function microsOf(source: ColumnData, rows: number): ColumnData {
  const nanos = halvesOf(source, rows);
  const micros = new Int32Array(2 * rows);
  for (let at = 0; at < 2 * rows; at += 2) {
    const high = nanos[at + 1] as number;
    micros[at] = lowMicros(nanos[at] as number, high);
    micros[at + 1] = highMicros(high);
  }
  return { ...NO_ROWS, values: new Uint8Array(micros.buffer) };
}

function highMicros(high: number): number {
  return Math.floor(high / 1_000);
}

/** The low half, of both halves of nanoseconds. */
function lowMicros(low: number, high: number): number {
  const rest = (high - 1_000 * highMicros(high)) * 0x1_0000_0000 + (low >>> 0);
  return Math.floor(rest / 1_000) | 0;
}

/** The row that all rows are, or undefined when they differ. */
export function constantOf(
  data: ColumnData,
  type: ColumnType | undefined,
  rows: number,
): ColumnData | undefined {
  if (type === undefined) return undefined;
  if (data.nullCount === rows) return nullColumn(type, 1);
  if (data.nullCount > 0 || type === "bool") return undefined;
  const { offsets, values } = data;
  if (offsets === null) {
    const width = values.byteLength / rows;
    return repeats(values, width) ? { ...data, values: values.subarray(0, width) } : undefined;
  }
  const length = offsets[1] ?? 0;
  for (let row = rows; row > 0; row -= 1) {
    if (offsets[row] !== row * length) return undefined;
  }
  if (!repeats(values, length)) return undefined;
  return { ...data, offsets: offsets.subarray(0, 2), values: values.subarray(0, length) };
}

/** Whether the bytes are the first `length` of them, again and again. */
function repeats(bytes: Uint8Array, length: number): boolean {
  const shifted = bytes.subarray(length);
  return Buffer.compare(shifted, bytes.subarray(0, shifted.byteLength)) === 0;
}

function repeated(row: ColumnData, type: ColumnType, rows: number): ColumnData {
  const { byteLength } = row.values;
  if (rows * Math.max(byteLength, 4) > COLUMN_BYTES_MAX) {
    throw corrupt(`${rows} rows of one value of ${byteLength} bytes are more than a column holds`);
  }
  if (row.nullCount > 0) return nullColumn(type, rows);
  if (type === "bool") throw corrupt("one row stands for all of a column of booleans");
  const values = new Uint8Array(rows * byteLength);
  values.set(row.values);
  for (let filled = byteLength; filled < values.byteLength; filled *= 2) {
    values.copyWithin(filled, 0, Math.min(filled, values.byteLength - filled));
  }
  if (row.offsets === null) return { ...row, values };
  const offsets = new Int32Array(rows + 1);
  for (let i = 1; i <= rows; i += 1) offsets[i] = i * byteLength;
  return { ...row, offsets, values };
}

function corrupt(what: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read an Arrow record batch: ${what}`);
}

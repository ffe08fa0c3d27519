/**
 * The values of a column chunk that are not null, one after the other, in Parquet's plain form or
 * near it.
 */

import { isAscii, isUtf8 } from "node:buffer";
import { present } from "../../base/assert.ts";
import type { ColumnData } from "../../columns/batch.ts";
import { isNull } from "../../columns/rows.ts";
import type { ColumnType } from "../../schema/schema.ts";

export interface ChunkValues {
  readonly type: ColumnType;
  readonly count: number;
  /** Little-endian; a bool has a byte. */
  readonly bytes: Uint8Array;
  /** For strings: where each begins and the last one ends. */
  readonly offsets: Int32Array | undefined;
  /** Bytes of each value; 0: `offsets` tell. */
  readonly width: number;
}

const WIDTH: Readonly<Record<ColumnType, number>> = {
  timestamptz: 8,
  long: 8,
  double: 8,
  int: 4,
  bool: 1,
  string: 0,
};

/** The values of `rows` rows that are not null: views of `data` without nulls, a copy of a bool. */
export function chunkValues(type: ColumnType, data: ColumnData, rows: number): ChunkValues {
  const width = WIDTH[type];
  const count = rows - data.nullCount;
  const { bytes, offsets } = filledOf(type, data, { rows, width });
  // Always in this order, so that what reads values sees objects of one kind.
  return { type, count, bytes, offsets, width };
}

function filledOf(
  type: ColumnType,
  data: ColumnData,
  { rows, width }: { readonly rows: number; readonly width: number },
): Pick<ChunkValues, "bytes" | "offsets"> {
  if (type === "bool") return { bytes: bytesOfBits(data, rows), offsets: undefined };
  if (data.nullCount === 0) return { bytes: data.values, offsets: data.offsets ?? undefined };
  if (width === 0) return stringsOf(data, rows);
  return { bytes: wordsOf(data, { rows, width }), offsets: undefined };
}

/** Whether each string is UTF-8: readers refuse a file with another. */
export function areTexts({ count, bytes, offsets }: ChunkValues): boolean {
  if (offsets === undefined || isAscii(bytes)) return true;
  if (!isUtf8(bytes)) return false;
  for (let at = 0; at < count; at += 1) {
    const start = offsets[at] as number;
    // Within a code point.
    if (start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) return false;
  }
  return true;
}

/** Where in `bytes` the value at `at` begins. */
export function startOf({ width, offsets }: ChunkValues, at: number): number {
  return offsets === undefined ? at * width : offsets[at] as number;
}

/** Plain: without the length of a string. */
export function bytesAt(values: ChunkValues, at: number): Uint8Array {
  return values.bytes.subarray(startOf(values, at), startOf(values, at + 1));
}

function bytesOfBits(data: ColumnData, rows: number): Uint8Array {
  const bytes = new Uint8Array(rows - data.nullCount);
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    if (isNull(data, row)) continue;
    bytes[at] = (data.values[row >> 3] as number) >> (row & 7) & 1;
    at += 1;
  }
  return bytes;
}

function wordsOf(
  data: ColumnData,
  { rows, width }: { readonly rows: number; readonly width: number },
): Uint8Array {
  const bytes = new Uint8Array(width * (rows - data.nullCount));
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    if (isNull(data, row)) continue;
    for (let byte = width * row; byte < width * (row + 1); byte += 1, at += 1) {
      bytes[at] = data.values[byte] as number;
    }
  }
  return bytes;
}

/** What lies under a null is left out. */
function stringsOf(
  data: ColumnData,
  rows: number,
): { readonly offsets: Int32Array; readonly bytes: Uint8Array } {
  const from = present(data.offsets, "offsets");
  const offsets = new Int32Array(rows - data.nullCount + 1);
  const bytes = new Uint8Array(data.values.byteLength);
  let at = 0;
  let length = 0;
  for (let row = 0; row < rows; row += 1) {
    if (isNull(data, row)) continue;
    const value = data.values.subarray(from[row], from[row + 1]);
    bytes.set(value, length);
    length += value.byteLength;
    at += 1;
    offsets[at] = length;
  }
  return { offsets, bytes: bytes.subarray(0, length) };
}

/** 64-bit integers as pairs of halves. */
export function halvesOfValues(values: ChunkValues): Int32Array {
  const { buffer, byteOffset } = aligned(values.bytes, 4);
  return new Int32Array(buffer, byteOffset, 2 * values.count);
}

/** The values as 32-bit integers, without copying where they lie at a multiple of 4 bytes. */
export function intsOfValues(values: ChunkValues): Int32Array {
  const { buffer, byteOffset } = aligned(values.bytes, 4);
  return new Int32Array(buffer, byteOffset, values.count);
}

/** The values as doubles, without copying where they lie at a multiple of 8 bytes. */
export function doublesOfValues(values: ChunkValues): Float64Array {
  const { buffer, byteOffset } = aligned(values.bytes, 8);
  return new Float64Array(buffer, byteOffset, values.count);
}

function aligned(bytes: Uint8Array, to: number): Uint8Array {
  return bytes.byteOffset % to === 0 ? bytes : bytes.slice();
}

/**
 * The time columns of a batch as 32-bit halves: comparing 64-bit integers without a bigint per row.
 */

import { assert, present } from "../base/assert.ts";
import type { ColumnBatch, ColumnData } from "./batch.ts";

/**
 * 64-bit integers as pairs: element 2i is the low half (unsigned), 2i + 1 the high one (signed).
 */
export type Int64Halves = Int32Array;

/**
 * The 8-byte integers of a column as halves; a copy only when the column's bytes are not aligned.
 */
export function halvesOf(data: ColumnData, rows: number): Int64Halves {
  const { values } = data;
  const aligned = values.byteOffset % 4 === 0 ? values : values.slice();
  return new Int32Array(aligned.buffer, aligned.byteOffset, 2 * rows);
}

/** What `int64At` gives exactly. Microseconds since 1970 reach it in the year 2255. */
export const INT64_EXACT_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** The integer at `place` of `halves`, as the nearest number. */
export function int64At(halves: Int64Halves, place: number): number {
  return (halves[2 * place + 1] as number) * 0x1_0000_0000 + ((halves[2 * place] as number) >>> 0);
}

/** The column called `name` of a batch. */
export function columnData(batch: ColumnBatch, name: string): ColumnData {
  const i = batch.schema.columns.findIndex((column) => column.name === name);
  assert(i >= 0, `batch has no column ${name}`);
  return present(batch.columns[i]);
}

/** Smallest and largest `timestamp_ns`; 0 and 0 of an empty batch. */
export function timestampRangeOf(batch: ColumnBatch): { min: bigint; max: bigint } {
  if (batch.rows === 0) return { min: 0n, max: 0n };
  const halves = halvesOf(columnData(batch, "timestamp_ns"), batch.rows);
  let minHigh = halves[1] as number;
  let minLow = (halves[0] as number) >>> 0;
  let maxHigh = minHigh;
  let maxLow = minLow;
  for (let i = 2; i < halves.length; i += 2) {
    const low = (halves[i] as number) >>> 0;
    const high = halves[i + 1] as number;
    if (high < minHigh || (high === minHigh && low < minLow)) {
      minHigh = high;
      minLow = low;
    }
    if (high > maxHigh || (high === maxHigh && low > maxLow)) {
      maxHigh = high;
      maxLow = low;
    }
  }
  return { min: int64Of(minHigh, minLow), max: int64Of(maxHigh, maxLow) };
}

function int64Of(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

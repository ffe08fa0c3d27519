/**
 * The order of rows by time, over several batches, without a bigint per comparison.
 *
 * A natural merge sort: ascending runs of the input are merged pairwise, so that sorted batches
 * need no pass and a few interleaved ones few. Keys are distances from the smallest time as
 * doubles, which are exact below 2^53 ns (104 days). Beyond that, rounding keeps their order, and
 * rows whose keys became equal are settled by their exact time.
 */

import { totalRows } from "../base/total_rows.ts";
import type { ColumnBatch } from "./batch.ts";
import { columnData, halvesOf } from "./timestamps.ts";

/** Row i of the result is row `row[i]` of batch `batch[i]`. */
export interface RowOrder {
  readonly batch: Uint32Array;
  readonly row: Uint32Array;
}

const EXACT_MAX = 2 ** 53;

/**
 * All rows by (`timestamp`, `timestamp_ns`); ties stay in the order given. Since `timestamp` is
 * `timestamp_ns` cut to microseconds in every row, that is the order of `timestamp_ns`.
 */
export function sortOrder(batches: readonly ColumnBatch[]): RowOrder {
  const rows = totalRows(batches);
  const halves = new Int32Array(2 * rows);
  let at = 0;
  for (const batch of batches) {
    halves.set(halvesOf(columnData(batch, "timestamp_ns"), batch.rows), at);
    at += 2 * batch.rows;
  }
  const { keys, exact } = keysOf(halves, rows);
  const places = sortedPlaces(keys);
  if (!exact) settleTies(places.keys, places.places, halves);
  return orderOf(places.places, batches);
}

function keysOf(halves: Int32Array, rows: number): { keys: Float64Array; exact: boolean } {
  const keys = new Float64Array(rows);
  let minHigh = Infinity;
  for (let i = 0; i < rows; i += 1) minHigh = Math.min(minHigh, halves[2 * i + 1] as number);
  let max = 0;
  for (let i = 0; i < rows; i += 1) {
    const low = (halves[2 * i] as number) >>> 0;
    const key = ((halves[2 * i + 1] as number) - minHigh) * 0x1_0000_0000 + low;
    keys[i] = key;
    if (key > max) max = key;
  }
  return { keys, exact: max < EXACT_MAX };
}

interface Places {
  readonly keys: Float64Array;
  readonly places: Uint32Array;
}

/** Where each key of the sorted sequence stood. Stable. */
function sortedPlaces(keys: Float64Array): Places {
  const rows = keys.length;
  let from: Places = { keys, places: Uint32Array.from({ length: rows }, (_, i) => i) };
  let ends = runEnds(keys);
  if (ends.length <= 1) return from;
  let to: Places = { keys: new Float64Array(rows), places: new Uint32Array(rows) };
  while (ends.length > 1) {
    const merged = new Uint32Array((ends.length + 1) >> 1);
    let start = 0;
    for (let i = 0; i < ends.length; i += 2) {
      const middle = ends[i] as number;
      const end = ends[i + 1] ?? middle;
      mergeRuns(from, to, { start, middle, end });
      merged[i >> 1] = end;
      start = end;
    }
    ends = merged;
    [from, to] = [to, from];
  }
  return from;
}

/** Ends of the maximal ascending runs. */
function runEnds(keys: Float64Array): Uint32Array {
  const ends = new Uint32Array(keys.length);
  let runs = 0;
  for (let i = 1; i <= keys.length; i += 1) {
    if (i < keys.length && (keys[i] as number) >= (keys[i - 1] as number)) continue;
    ends[runs] = i;
    runs += 1;
  }
  return ends.subarray(0, runs);
}

function mergeRuns(
  from: Places,
  to: Places,
  { start, middle, end }: { start: number; middle: number; end: number },
): void {
  const { keys, places } = from;
  const { keys: keysTo, places: placesTo } = to;
  let left = start;
  let right = middle;
  let at = start;
  while (left < middle && right < end) {
    const leftKey = keys[left] as number;
    const rightKey = keys[right] as number;
    if (leftKey <= rightKey) {
      keysTo[at] = leftKey;
      placesTo[at] = places[left] as number;
      left += 1;
    } else {
      keysTo[at] = rightKey;
      placesTo[at] = places[right] as number;
      right += 1;
    }
    at += 1;
  }
  const rest = left < middle ? left : right;
  const restEnd = left < middle ? middle : end;
  keysTo.set(keys.subarray(rest, restEnd), at);
  placesTo.set(places.subarray(rest, restEnd), at);
}

/** Orders places with equal keys by their exact time. */
function settleTies(keys: Float64Array, places: Uint32Array, halves: Int32Array): void {
  const before = (a: number, b: number) => {
    const high = (halves[2 * a + 1] as number) - (halves[2 * b + 1] as number);
    if (high !== 0) return high;
    const low = ((halves[2 * a] as number) >>> 0) - ((halves[2 * b] as number) >>> 0);
    return low !== 0 ? low : a - b;
  };
  let start = 0;
  for (let i = 1; i <= keys.length; i += 1) {
    if (i < keys.length && keys[i] === keys[start]) continue;
    if (i - start > 1) places.subarray(start, i).sort(before);
    start = i;
  }
}

function orderOf(places: Uint32Array, batches: readonly ColumnBatch[]): RowOrder {
  const batchAt = new Uint32Array(places.length);
  const starts = new Uint32Array(batches.length);
  let start = 0;
  batches.forEach(({ rows }, i) => {
    starts[i] = start;
    batchAt.fill(i, start, start + rows);
    start += rows;
  });
  const batch = new Uint32Array(places.length);
  const row = new Uint32Array(places.length);
  for (let i = 0; i < places.length; i += 1) {
    const place = places[i] as number;
    const owner = batchAt[place] as number;
    batch[i] = owner;
    row[i] = place - (starts[owner] as number);
  }
  return { batch, row };
}

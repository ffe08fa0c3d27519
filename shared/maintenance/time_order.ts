/**
 * Rows in the tables' physical order, (`timestamp`, `timestamp_ns`), split by day of `timestamp`: the order in
 * which every data file is written.
 *
 * Rows that tie keep their arrival order. Works on whole columns: nothing is allocated per row.
 */

import { assert, present } from "../base/assert.ts";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import { valueBytes } from "../columns/ipc.ts";
import { columnData, halvesOf, type Int64Halves } from "../columns/timestamps.ts";
import type { Column } from "../event/schema.ts";

const MICROS_PER_DAY = 86_400_000_000;
/** Up to this length a loop copies faster than a call into native code does. */
const LOOP_COPY_MAX = 24;

/** Rows of one day, in order. */
export interface DayRows {
  /** Days since 1970-01-01, UTC. */
  readonly day: number;
  /** One after the other they are ordered; several when the rows came in order and were not copied. */
  readonly batches: readonly ColumnBatch[];
}

/** All rows of `batches`, which share one schema, by day and in order. */
export function inTimeOrder(batches: readonly ColumnBatch[]): DayRows[] {
  const filled = batches.filter((batch) => batch.rows > 0);
  if (filled.length === 0) return [];
  const times = filled.map(timesOf);
  if (isOrdered(times)) {
    const day = dayAt(present(times[0]), 0);
    const last = present(times.at(-1));
    if (dayAt(last, last.rows - 1) === day) return [{ day, batches: filled }];
  }
  const whole = concatBatches(filled);
  const flat = timesOf(whole);
  return splitByDay(flat, orderOf(flat)).map(({ day, order }) => ({
    day,
    batches: [gatherRows(whole, order)],
  }));
}

/** The two time columns of a batch. */
interface Times {
  readonly rows: number;
  readonly micros: Int64Halves;
  readonly nanos: Int64Halves;
}

function timesOf(batch: ColumnBatch): Times {
  const { rows } = batch;
  return {
    rows,
    micros: halvesOf(columnData(batch, "timestamp"), rows),
    nanos: halvesOf(columnData(batch, "timestamp_ns"), rows),
  };
}

/** Exact: microseconds of the years that a table can hold are below 2^53. */
function microsAt(times: Times, row: number): number {
  return at(times.micros, 2 * row + 1) * 0x1_0000_0000 + (at(times.micros, 2 * row) >>> 0);
}

function dayAt(times: Times, row: number): number {
  return Math.floor(microsAt(times, row) / MICROS_PER_DAY);
}

function compareNanos(a: Times, i: number, b: Times, j: number): number {
  const high = at(a.nanos, 2 * i + 1) - at(b.nanos, 2 * j + 1);
  return high !== 0 ? high : (at(a.nanos, 2 * i) >>> 0) - (at(b.nanos, 2 * j) >>> 0);
}

function isOrdered(all: readonly Times[]): boolean {
  let last = present(all[0]);
  let lastRow = 0;
  let lastMicros = microsAt(last, 0);
  for (const times of all) {
    for (let row = 0; row < times.rows; row += 1) {
      const micros = microsAt(times, row);
      if (micros < lastMicros) return false;
      if (micros === lastMicros && compareNanos(times, row, last, lastRow) < 0) return false;
      last = times;
      lastRow = row;
      lastMicros = micros;
    }
  }
  return true;
}

/** The rows' numbers in time order. */
function orderOf(times: Times): Uint32Array {
  const micros = new Float64Array(times.rows);
  const order = new Uint32Array(times.rows);
  for (let row = 0; row < times.rows; row += 1) {
    micros[row] = microsAt(times, row);
    order[row] = row;
  }
  // Stable, as the language demands of every sort.
  return order.sort((a, b) =>
    (micros[a] as number) - (micros[b] as number) || compareNanos(times, a, times, b)
  );
}

function splitByDay(times: Times, order: Uint32Array): { day: number; order: Uint32Array }[] {
  const days: { day: number; order: Uint32Array }[] = [];
  for (let from = 0; from < order.length;) {
    const day = dayAt(times, order[from] as number);
    // Ordered, so the day's end is found by halving.
    let low = from + 1;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (dayAt(times, order[middle] as number) === day) low = middle + 1;
      else high = middle;
    }
    days.push({ day, order: order.subarray(from, low) });
    from = low;
  }
  return days;
}

/** One batch with the rows of all, in their order. */
export function concatBatches(batches: readonly ColumnBatch[]): ColumnBatch {
  const [first] = batches;
  assert(first !== undefined, "there is a batch");
  if (batches.length === 1) return first;
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const columns = first.schema.columns.map((column, at) =>
    concatColumn(column, batches.map((batch) => ({ rows: batch.rows, data: columnAt(batch, at) })))
  );
  return { schema: first.schema, rows, columns };
}

function columnAt(batch: ColumnBatch, at: number): ColumnData {
  return present(batch.columns[at], "column");
}

interface ColumnPart {
  readonly rows: number;
  readonly data: ColumnData;
}

function concatColumn(column: Column, parts: readonly ColumnPart[]): ColumnData {
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  const nullCount = parts.reduce((sum, part) => sum + part.data.nullCount, 0);
  const validity = nullCount === 0 ? null : concatBits(rows, parts, (data) => data.validity);
  if (column.type === "bool") {
    const values = concatBits(rows, parts, (data) => data.values);
    return { validity, nullCount, offsets: null, values };
  }
  const values = new Uint8Array(parts.reduce((sum, part) => sum + part.data.values.byteLength, 0));
  const offsets = column.type === "string" ? new Int32Array(rows + 1) : null;
  let byte = 0;
  let row = 0;
  for (const { data, rows: count } of parts) {
    values.set(data.values, byte);
    if (offsets !== null) {
      const source = present(data.offsets, "offsets");
      for (let i = 1; i <= count; i += 1) offsets[row + i] = byte + at(source, i);
    }
    byte += data.values.byteLength;
    row += count;
  }
  return { validity, nullCount, offsets, values };
}

/** Bitmaps one after the other; an absent one is all ones. */
function concatBits(
  rows: number,
  parts: readonly ColumnPart[],
  bitsOf: (data: ColumnData) => Uint8Array | null,
): Uint8Array {
  const joined = new Uint8Array((rows + 7) >> 3);
  let row = 0;
  for (const part of parts) {
    const bits = bitsOf(part.data);
    for (let i = 0; i < part.rows; i += 1, row += 1) {
      if (bits === null || isSet(bits, i)) setBit(joined, row);
    }
  }
  return joined;
}

/** The rows of `batch` whose numbers `order` holds, in that order. */
export function gatherRows(batch: ColumnBatch, order: Uint32Array): ColumnBatch {
  const columns = batch.schema.columns.map((column, at): ColumnData => {
    const data = columnAt(batch, at);
    const validity = data.validity === null ? null : gatherBits(data.validity, order);
    const nullCount = validity === null ? 0 : order.length - countBits(validity);
    const kept = { validity: nullCount === 0 ? null : validity, nullCount };
    switch (column.type) {
      case "string":
        return { ...kept, ...gatherStrings(data, order) };
      case "bool":
        return { ...kept, offsets: null, values: gatherBits(data.values, order) };
      default: {
        const words = valueBytes(column.type, 1) / 4;
        return { ...kept, offsets: null, values: gatherWords(data.values, order, words) };
      }
    }
  });
  return { schema: batch.schema, rows: order.length, columns };
}

/** Values of `words` times four bytes. */
function gatherWords(values: Uint8Array, order: Uint32Array, words: number): Uint8Array {
  const aligned = values.byteOffset % 4 === 0 ? values : values.slice();
  const source = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
  const target = new Int32Array(words * order.length);
  if (words === 1) {
    for (let i = 0; i < order.length; i += 1) target[i] = at(source, at(order, i));
  } else {
    for (let i = 0; i < order.length; i += 1) {
      const row = at(order, i);
      target[2 * i] = at(source, 2 * row);
      target[2 * i + 1] = at(source, 2 * row + 1);
    }
  }
  return new Uint8Array(target.buffer);
}

function gatherStrings(
  data: ColumnData,
  order: Uint32Array,
): { offsets: Int32Array; values: Uint8Array } {
  const from = present(data.offsets, "offsets");
  const offsets = new Int32Array(order.length + 1);
  let total = 0;
  for (let i = 0; i < order.length; i += 1) {
    const row = at(order, i);
    total += at(from, row + 1) - at(from, row);
    offsets[i + 1] = total;
  }
  const source = data.values;
  const values = new Uint8Array(total);
  for (let i = 0; i < order.length; i += 1) {
    const row = at(order, i);
    const start = at(from, row);
    const end = at(from, row + 1);
    let target = at(offsets, i);
    if (end - start > LOOP_COPY_MAX) values.set(source.subarray(start, end), target);
    else for (let byte = start; byte < end; byte += 1) values[target++] = at(source, byte);
  }
  return { offsets, values };
}

function gatherBits(bits: Uint8Array, order: Uint32Array): Uint8Array {
  const gathered = new Uint8Array((order.length + 7) >> 3);
  for (let i = 0; i < order.length; i += 1) if (isSet(bits, at(order, i))) setBit(gathered, i);
  return gathered;
}

function countBits(bits: Uint8Array): number {
  let count = 0;
  for (let byte of bits) for (; byte !== 0; byte &= byte - 1) count += 1;
  return count;
}

function isSet(bits: Uint8Array, row: number): boolean {
  return (at(bits, row >> 3) & (1 << (row & 7))) !== 0;
}

function setBit(bits: Uint8Array, row: number): void {
  bits[row >> 3] = at(bits, row >> 3) | (1 << (row & 7));
}

/** An element whose index the caller has bounded. */
function at(array: Int32Array | Uint32Array | Uint8Array, index: number): number {
  return array[index] as number;
}

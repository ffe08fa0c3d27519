/**
 * Rows in the tables' physical order, (`timestamp`, `timestamp_ns`), split by day of `timestamp`:
 * the order in which every data file is written.
 *
 * Rows that tie keep their arrival order. Works on whole columns: nothing is allocated per row
 * but views of long texts.
 */

import { othersTurn } from "../base/others_turn.ts";
import { assert, present } from "../base/assert.ts";
import { type ColumnBatch, type ColumnData, valueBytes } from "../columns/batch.ts";
import { columnData, halvesOf, type Int64Halves } from "../columns/timestamps.ts";
import type { Column } from "../schema/schema.ts";

const MICROS_PER_DAY = 86_400_000_000;
/** Up to this length a loop copies faster than a call into native code does. */
const LOOP_COPY_MAX = 24;
/**
 * From this many rows on, requests of a server in the same process get a turn between two columns.
 */
const ROWS_WITHOUT_PAUSE_MAX = 10_000;

/** Rows of one day, in order. */
export interface DayRows {
  /** Days since 1970-01-01, UTC. */
  readonly day: number;
  /**
   * One after the other they are ordered; several when the rows came in order and were not copied.
   */
  readonly batches: readonly ColumnBatch[];
}

/** All rows of `batches`, which share one schema, by day and in order. */
export async function inTimeOrder(batches: readonly ColumnBatch[]): Promise<DayRows[]> {
  const filled = batches.filter((batch) => batch.rows > 0);
  if (filled.length === 0) return [];
  const times = filled.map(timesOf);
  if (isOrdered(times)) {
    const day = dayOf(microsAt(present(times[0]), 0));
    const last = present(times.at(-1));
    if (dayOf(microsAt(last, last.rows - 1)) === day) return [{ day, batches: filled }];
  }
  const keys = keysOf(times);
  const days: DayRows[] = [];
  for (const { day, order } of splitByDay(keys, orderOf(keys))) {
    days.push({ day, batches: [await gatherRows(filled, order)] });
  }
  return days;
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

function dayOf(micros: number): number {
  return Math.floor(micros / MICROS_PER_DAY);
}

function compareNanos(a: Int64Halves, i: number, b: Int64Halves, j: number): number {
  const high = at(a, 2 * i + 1) - at(b, 2 * j + 1);
  return high !== 0 ? high : (at(a, 2 * i) >>> 0) - (at(b, 2 * j) >>> 0);
}

function isOrdered(all: readonly Times[]): boolean {
  let last = present(all[0]);
  let lastRow = 0;
  let lastMicros = microsAt(last, 0);
  for (const times of all) {
    for (let row = 0; row < times.rows; row += 1) {
      const micros = microsAt(times, row);
      if (micros < lastMicros) return false;
      if (micros === lastMicros && compareNanos(times.nanos, row, last.nanos, lastRow) < 0) {
        return false;
      }
      last = times;
      lastRow = row;
      lastMicros = micros;
    }
  }
  return true;
}

/** The times of all batches' rows, numbered through. */
interface Keys {
  readonly micros: Float64Array;
  readonly nanos: Int64Halves;
}

function keysOf(all: readonly Times[]): Keys {
  const rows = all.reduce((sum, times) => sum + times.rows, 0);
  const micros = new Float64Array(rows);
  const nanos = new Int32Array(2 * rows);
  let base = 0;
  for (const times of all) {
    nanos.set(times.nanos, 2 * base);
    for (let row = 0; row < times.rows; row += 1) micros[base + row] = microsAt(times, row);
    base += times.rows;
  }
  return { micros, nanos };
}

/** The rows' numbers in time order. */
function orderOf({ micros, nanos }: Keys): Uint32Array {
  const order = new Uint32Array(micros.length);
  for (let row = 0; row < order.length; row += 1) order[row] = row;
  // Stable, as the language demands of every sort.
  return order.sort((a, b) =>
    (micros[a] as number) - (micros[b] as number) || compareNanos(nanos, a, nanos, b)
  );
}

function splitByDay({ micros }: Keys, order: Uint32Array): { day: number; order: Uint32Array }[] {
  const dayAt = (index: number) => dayOf(micros[at(order, index)] as number);
  const days: { day: number; order: Uint32Array }[] = [];
  for (let from = 0; from < order.length;) {
    const day = dayAt(from);
    // Ordered, so the day's end is found by halving.
    let low = from + 1;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (dayAt(middle) === day) low = middle + 1;
      else high = middle;
    }
    days.push({ day, order: order.subarray(from, low) });
    from = low;
  }
  return days;
}

/**
 * One batch with the rows whose numbers, counted through all batches, `order` holds, in that order.
 */
export async function gatherRows(
  batches: readonly ColumnBatch[],
  order: Uint32Array,
): Promise<ColumnBatch> {
  const [first] = batches;
  assert(first !== undefined, "there is a batch");
  const places = placesOf(batches, order);
  const columns: ColumnData[] = [];
  for (const [at, column] of first.schema.columns.entries()) {
    if (order.length >= ROWS_WITHOUT_PAUSE_MAX) await othersTurn();
    const sources = batches.map((batch) => present(batch.columns[at], "column"));
    columns.push(gatherColumn(column, sources, places));
  }
  return { schema: first.schema, rows: order.length, columns };
}

/** For each row wanted: which batch holds it, and where in it. */
interface Places {
  readonly rows: number;
  readonly batch: Uint32Array;
  readonly row: Uint32Array;
}

function placesOf(batches: readonly ColumnBatch[], order: Uint32Array): Places {
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const batchOf = new Uint32Array(rows);
  const bases = new Uint32Array(batches.length);
  let base = 0;
  batches.forEach((batch, index) => {
    bases[index] = base;
    batchOf.fill(index, base, base + batch.rows);
    base += batch.rows;
  });
  const places = { batch: new Uint32Array(order.length), row: new Uint32Array(order.length) };
  for (let i = 0; i < order.length; i += 1) {
    const number = at(order, i);
    const index = at(batchOf, number);
    places.batch[i] = index;
    places.row[i] = number - at(bases, index);
  }
  return { rows: order.length, ...places };
}

function gatherColumn(
  column: Column,
  sources: readonly ColumnData[],
  places: Places,
): ColumnData {
  const hasNulls = sources.some((source) => source.nullCount > 0);
  const bits = hasNulls ? gatherBits(sources.map((source) => source.validity), places) : null;
  const nullCount = bits === null ? 0 : places.rows - countBits(bits);
  const validity = nullCount === 0 ? null : bits;
  if (column.type === "string") return { validity, nullCount, ...gatherStrings(sources, places) };
  const values = column.type === "bool"
    ? gatherBits(sources.map((source) => source.values), places)
    : gatherWords(sources.map((source) => source.values), places, valueBytes(column.type, 1) / 4);
  return { validity, nullCount, offsets: null, values };
}

/** Values of one or two times four bytes. */
function gatherWords(sources: readonly Uint8Array[], places: Places, words: number): Uint8Array {
  const columns = sources.map((values) => {
    const aligned = values.byteOffset % 4 === 0 ? values : values.slice();
    return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
  });
  const target = new Int32Array(words * places.rows);
  for (let i = 0; i < places.rows; i += 1) {
    const source = columns[at(places.batch, i)] as Int32Array;
    const row = at(places.row, i);
    if (words === 1) target[i] = at(source, row);
    else {
      target[2 * i] = at(source, 2 * row);
      target[2 * i + 1] = at(source, 2 * row + 1);
    }
  }
  return new Uint8Array(target.buffer);
}

function gatherStrings(
  sources: readonly ColumnData[],
  places: Places,
): { offsets: Int32Array; values: Uint8Array } {
  const starts = sources.map((source) => present(source.offsets, "offsets"));
  const offsets = new Int32Array(places.rows + 1);
  let total = 0;
  for (let i = 0; i < places.rows; i += 1) {
    const from = starts[at(places.batch, i)] as Int32Array;
    const row = at(places.row, i);
    total += at(from, row + 1) - at(from, row);
    offsets[i + 1] = total;
  }
  const values = new Uint8Array(total);
  for (let i = 0; i < places.rows; i += 1) {
    const batch = at(places.batch, i);
    const source = (sources[batch] as ColumnData).values;
    const start = at(starts[batch] as Int32Array, at(places.row, i));
    let target = at(offsets, i);
    const end = start + at(offsets, i + 1) - target;
    if (end - start > LOOP_COPY_MAX) values.set(source.subarray(start, end), target);
    else for (let byte = start; byte < end; byte += 1) values[target++] = at(source, byte);
  }
  return { offsets, values };
}

/** A bitmap that is absent is all ones. */
function gatherBits(sources: readonly (Uint8Array | null)[], places: Places): Uint8Array {
  const gathered = new Uint8Array((places.rows + 7) >> 3);
  for (let i = 0; i < places.rows; i += 1) {
    const bits = sources[at(places.batch, i)] as Uint8Array | null;
    const row = at(places.row, i);
    const isSet = bits === null || (at(bits, row >> 3) & (1 << (row & 7))) !== 0;
    if (isSet) gathered[i >> 3] = at(gathered, i >> 3) | (1 << (i & 7));
  }
  return gathered;
}

function countBits(bits: Uint8Array): number {
  let count = 0;
  for (let byte of bits) for (; byte !== 0; byte &= byte - 1) count += 1;
  return count;
}

/** An element whose index the caller has bounded. */
function at(array: Int32Array | Uint32Array | Uint8Array, index: number): number {
  return array[index] as number;
}

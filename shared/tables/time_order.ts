/**
 * Rows in the tables' physical order, (`timestamp`, `timestamp_ns`), split by day of `timestamp`:
 * the order in which every data file is written.
 *
 * Rows that tie keep their arrival order. Works on whole columns.
 */

import { present } from "../base/assert.ts";
import { firstNotBelow } from "../base/lower_bound.ts";
import { totalRows } from "../base/total_rows.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { ColumnMemory } from "../columns/column_memory.ts";
import { type RowOrder, sortOrder, takeRows } from "../columns/gather.ts";
import { columnData, halvesOf, int64At, type Int64Halves } from "../columns/timestamps.ts";

const MICROS_PER_DAY = 86_400_000_000;
/** Rows that are copied at once: other work of the process gets its turn in between. */
const ROWS_AT_ONCE = 8_192;

/** Rows of one day, in order. */
export interface DayRows {
  /** Days since 1970-01-01, UTC. */
  readonly day: number;
  readonly rows: number;
  /** All rows that were given came in this order: `batches` has them as they are. */
  readonly isAsGiven: boolean;
  /**
   * One after the other they are ordered: copies of some thousand rows. Each is made as it is
   * taken, and is good until the next is.
   */
  batches(): Iterable<ColumnBatch>;
}

/** All rows of `batches`, which share one schema, by day and in order. */
export function inTimeOrder(batches: readonly ColumnBatch[]): DayRows[] {
  const filled = batches.filter((batch) => batch.rows > 0);
  if (filled.length === 0) return [];
  const times = filled.map(timesOf);
  if (isOrdered(times)) {
    const day = dayOf(microsAt(present(times[0]), 0));
    const last = present(times.at(-1));
    if (dayOf(microsAt(last, last.rows - 1)) === day) {
      const rows = totalRows(times);
      return [{ day, rows, isAsGiven: true, batches: () => filled }];
    }
  }
  return splitByDay(times, sortOrder(filled)).map(({ day, order }) => ({
    day,
    rows: order.row.length,
    isAsGiven: false,
    batches: () => copies(filled, order),
  }));
}

/** The rows that `order` names. They mostly came in order, so they move by runs of neighbours. */
function* copies(
  batches: readonly ColumnBatch[],
  { batch, row }: RowOrder,
): Generator<ColumnBatch> {
  const memory = new ColumnMemory();
  for (let from = 0; from < row.length; from += ROWS_AT_ONCE) {
    const to = from + ROWS_AT_ONCE;
    const order = { batch: batch.subarray(from, to), row: row.subarray(from, to) };
    memory.free();
    yield takeRows(batches, order, memory.take);
  }
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
function microsAt({ micros }: Times, row: number): number {
  return int64At(micros, row);
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

function splitByDay(
  times: readonly Times[],
  { batch, row }: RowOrder,
): { day: number; order: RowOrder }[] {
  const dayAt = (index: number) =>
    dayOf(microsAt(times[at(batch, index)] as Times, at(row, index)));
  const days: { day: number; order: RowOrder }[] = [];
  for (let from = 0; from < row.length;) {
    const day = dayAt(from);
    // Ordered, so the day's end is found by halving.
    const end = from + firstNotBelow(row.length - from, (rows) => dayAt(from + rows) === day);
    days.push({ day, order: { batch: batch.subarray(from, end), row: row.subarray(from, end) } });
    from = end;
  }
  return days;
}

/** An element whose index the caller has bounded. */
function at(array: Int32Array | Uint32Array, index: number): number {
  return array[index] as number;
}

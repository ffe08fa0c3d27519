/**
 * Rows of several batches into one batch, in any order. Rows move by runs of neighbours, so that
 * what is in order already costs a few copies of memory. The order itself: `sort_order.ts`.
 */

import { assert, present } from "../base/assert.ts";
import { viewOf } from "../base/bytes.ts";
import { totalRows } from "../base/total_rows.ts";
import type { ColumnType } from "../schema/schema.ts";
import { type ColumnBatch, type ColumnData, completeOf } from "./batch.ts";
import type { RowOrder } from "./sort_order.ts";

export { type RowOrder, sortOrder } from "./sort_order.ts";

/** Neighbouring rows of one batch that stay neighbours. */
interface Run {
  readonly batch: number;
  readonly start: number;
  readonly count: number;
}

/**
 * One batch of the rows that `order` names, in that order, in memory of `take` but for bits. All
 * batches have the same schema.
 */
export function takeRows(
  batches: readonly ColumnBatch[],
  order: RowOrder,
  take: TakeMemory = ownMemory,
): ColumnBatch {
  const { schema } = present(batches[0], "a batch to take rows from");
  const runs = runsOf(order);
  const rows = order.row.length;
  const columns = schema.columns.map((column, i) => {
    const parts = batches.map((batch) => present(batch.columns[i]));
    return takeColumn(column.type, parts, { runs, rows, take });
  });
  return { schema, rows, columns, ...completeOf(batches) };
}

/** All rows of the batches one after another, in memory of `take` but for bits. */
export function concatBatches(
  batches: readonly ColumnBatch[],
  take: TakeMemory = ownMemory,
): ColumnBatch {
  const { schema } = present(batches[0], "a batch to concatenate");
  const runs = batches.map((batch, i) => ({ batch: i, start: 0, count: batch.rows }));
  const rows = totalRows(batches);
  const columns = schema.columns.map((column, i) => {
    const parts = batches.map((batch) => present(batch.columns[i]));
    return takeColumn(column.type, parts, { runs, rows, take });
  });
  return { schema, rows, columns, ...completeOf(batches) };
}

/** Rows [start, start + count) of a batch. */
export interface BatchSlice {
  readonly batch: ColumnBatch;
  readonly start: number;
  readonly count: number;
}

/** Gives bytes of any content, at a multiple of eight. */
export type TakeMemory = (byteLength: number) => Uint8Array<ArrayBuffer>;

/** Column `at` of rows one after another, in memory of `take` but for bits. */
export function joinColumn(
  ranges: readonly BatchSlice[],
  at: number,
  take: TakeMemory,
): ColumnData {
  const { type } = present(ranges[0]?.batch.schema.columns[at], "a column to join");
  const runs = ranges.map(({ start, count }, batch) => ({ batch, start, count }));
  const rows = ranges.reduce((sum, { count }) => sum + count, 0);
  const parts = ranges.map(({ batch }) => present(batch.columns[at]));
  return takeColumn(type, parts, { runs, rows, take });
}

function runsOf({ batch, row }: RowOrder): Run[] {
  assert(batch.length === row.length, "an order names a batch for every row");
  const runs: Run[] = [];
  let start = 0;
  for (let i = 1; i <= row.length; i += 1) {
    if (i < row.length && batch[i] === batch[start] && row[i] === (row[i - 1] as number) + 1) {
      continue;
    }
    runs.push({ batch: batch[start] as number, start: row[start] as number, count: i - start });
    start = i;
  }
  return runs;
}

interface Taking {
  readonly runs: readonly Run[];
  readonly rows: number;
  /** Default: memory of its own. */
  readonly take?: TakeMemory;
}

function ownMemory(byteLength: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(byteLength);
}

function takeColumn(type: ColumnType, parts: readonly ColumnData[], taking: Taking): ColumnData {
  const { validity, nullCount } = takeValidity(parts, taking);
  if (type === "string") return { validity, nullCount, ...takeStrings(parts, taking) };
  const values = type === "bool"
    ? takeBits(parts.map((part) => part.values), taking)
    : takeFixed(parts, type === "int" ? 4 : 8, taking);
  return { validity, nullCount, offsets: null, values };
}

function takeFixed(
  parts: readonly ColumnData[],
  width: 4 | 8,
  { runs, rows, take = ownMemory }: Taking,
): Uint8Array {
  const values = take(width * rows);
  const out = viewOf(values);
  const views = parts.map(({ values }) => viewOf(values));
  let at = 0;
  for (const { batch, start, count } of runs) {
    const bytes = width * count;
    if (count > LOOP_ROWS_MAX) {
      values.set(
        (parts[batch] as ColumnData).values.subarray(width * start, width * start + bytes),
        at,
      );
    } else {
      const view = views[batch] as DataView;
      for (let i = 0; i < bytes; i += 4) {
        out.setInt32(at + i, view.getInt32(width * start + i, true), true);
      }
    }
    at += bytes;
  }
  return values;
}

/** Runs up to this many fixed-width values move in a loop, longer ones by a native copy. */
const LOOP_ROWS_MAX = 16;
/** Strings of up to this many bytes a run move in a loop. */
const LOOP_BYTES_MAX = 128;

function takeStrings(
  parts: readonly ColumnData[],
  { runs, rows, take = ownMemory }: Taking,
): { offsets: Int32Array; values: Uint8Array } {
  const ends = take(4 * (rows + 1));
  const offsets = new Int32Array(ends.buffer, ends.byteOffset, rows + 1);
  offsets[0] = 0;
  const sources = parts.map((part) => present(part.offsets));
  let row = 0;
  let length = 0;
  for (const run of runs) {
    const source = sources[run.batch] as Int32Array;
    length = copyEnds(source, run, { offsets, row, length });
    row += run.count;
    assert(length <= 0x7fffffff, "a string column of one batch stays below 2 GiB");
  }
  return { offsets, values: takeBytes(parts, { runs, sources, values: take(length) }) };
}

function takeBytes(
  parts: readonly ColumnData[],
  { runs, sources, values }: {
    runs: readonly Run[];
    sources: readonly Int32Array[];
    values: Uint8Array;
  },
): Uint8Array {
  const out = viewOf(values);
  const views = parts.map(({ values }) => viewOf(values));
  let at = 0;
  for (const { batch, start, count } of runs) {
    const source = sources[batch] as Int32Array;
    const from = source[start] as number;
    const end = source[start + count] as number;
    if (end - from > LOOP_BYTES_MAX) {
      values.set((parts[batch] as ColumnData).values.subarray(from, end), at);
    } else {
      copyBytes(views[batch] as DataView, out, { from, end, at });
    }
    at += end - from;
  }
  return values;
}

/** Where the strings of a run end, behind `length` bytes: the bytes with those of the run. */
function copyEnds(
  source: Int32Array,
  { start, count }: Run,
  { offsets, row, length }: { offsets: Int32Array; row: number; length: number },
): number {
  const shift = length - (source[start] as number);
  for (let i = 1; i <= count; i += 1) offsets[row + i] = (source[start + i] as number) + shift;
  return (source[start + count] as number) + shift;
}

function copyBytes(
  source: DataView,
  target: DataView,
  { from, end, at }: { from: number; end: number; at: number },
): void {
  const shift = at - from;
  let next = from;
  for (; next + 8 <= end; next += 8) {
    target.setBigInt64(next + shift, source.getBigInt64(next, true), true);
  }
  for (; next < end; next += 1) target.setUint8(next + shift, source.getUint8(next));
}

function takeValidity(
  parts: readonly ColumnData[],
  taking: Taking,
): { validity: Uint8Array | null; nullCount: number } {
  if (parts.every((part) => part.nullCount === 0)) return { validity: null, nullCount: 0 };
  const validity = takeBits(parts.map((part) => part.validity), taking);
  let present = 0;
  for (const byte of validity) present += BITS_SET[byte] as number;
  const nullCount = taking.rows - present;
  return { validity: nullCount === 0 ? null : validity, nullCount };
}

/** Gathers bits; a part that is null has every bit set. */
function takeBits(parts: readonly (Uint8Array | null)[], { runs, rows }: Taking): Uint8Array {
  const bits = new Uint8Array((rows + 7) >> 3);
  let at = 0;
  for (const { batch, start, count } of runs) {
    const part = parts[batch] ?? null;
    for (let row = start; row < start + count; row += 1) {
      if (part === null || ((part[row >> 3] as number) & (1 << (row & 7))) !== 0) {
        bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7));
      }
      at += 1;
    }
  }
  return bits;
}

const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
  return count;
});

/** Rows `start` to `end` of a batch, as a batch of its own. */
export function sliceRows(batch: ColumnBatch, start: number, end: number): ColumnBatch {
  if (start === 0 && end === batch.rows) return batch;
  const taking = { runs: [{ batch: 0, start, count: end - start }], rows: end - start };
  const columns = batch.schema.columns.map((column, i) =>
    takeColumn(column.type, [present(batch.columns[i])], taking)
  );
  return { schema: batch.schema, rows: end - start, columns, ...completeOf([batch]) };
}

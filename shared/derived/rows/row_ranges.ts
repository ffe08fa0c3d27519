/** Sets of rows of one data file, as runs: ascending, none empty, none touching the next. */

import type { RowSet } from "./row_query.ts";

export interface RowRanges {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export const NO_ROWS: RowRanges = { starts: new Uint32Array(0), ends: new Uint32Array(0) };

/** A set of more rows is given as groups of rows. */
const LISTED_ROWS_MAX = 65_536;

/** The set of rows in `ordered`: ranges in order of their starts, which may overlap. */
export function rangesOf(ordered: Iterable<{ start: number; end: number }>): RowRanges {
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { start, end } of ordered) {
    if (start >= end) continue;
    const last = ends.at(-1);
    if (last === undefined || start > last) {
      starts.push(start);
      ends.push(end);
    } else if (end > last) ends[ends.length - 1] = end;
  }
  return { starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) };
}

/** The rows of `granules` of 2^`shift` rows each, of a file of `rows` rows. */
export function rangesOfGranules(
  granules: Uint32Array,
  { shift, rows }: { readonly shift: number; readonly rows: number },
): RowRanges {
  if (granules.length === 0) return NO_ROWS;
  const starts = new Uint32Array(granules.length);
  const ends = new Uint32Array(granules.length);
  let count = 0;
  for (let at = 0; at < granules.length; at += 1) {
    const start = (granules[at] as number) * 2 ** shift;
    const end = Math.min(start + 2 ** shift, rows);
    if (count > 0 && ends[count - 1] === start) {
      ends[count - 1] = end;
    } else {
      starts[count] = start;
      ends[count] = end;
      count += 1;
    }
  }
  return { starts: starts.subarray(0, count), ends: ends.subarray(0, count) };
}

/** Rows that are in `a` or in `b`. */
export function union(a: RowRanges, b: RowRanges): RowRanges {
  if (a.starts.length === 0) return b;
  if (b.starts.length === 0) return a;
  return rangesOf(merged(a, b));
}

/** Rows that are in `a` and in `b`. */
export function intersection(a: RowRanges, b: RowRanges): RowRanges {
  const starts: number[] = [];
  const ends: number[] = [];
  for (let i = 0, j = 0; i < a.starts.length && j < b.starts.length;) {
    const [endA, endB] = [a.ends[i] as number, b.ends[j] as number];
    const start = Math.max(a.starts[i] as number, b.starts[j] as number);
    const end = Math.min(endA, endB);
    if (start < end) {
      starts.push(start);
      ends.push(end);
    }
    if (endA < endB) i += 1;
    else j += 1;
  }
  return { starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) };
}

/** How many rows the ranges have together. */
export function countRows({ starts, ends }: RowRanges): number {
  let count = 0;
  for (let at = 0; at < starts.length; at += 1) {
    count += (ends[at] as number) - (starts[at] as number);
  }
  return count;
}

/** The ranges as a `RowSet` of a file of `rows` rows. */
export function rowSetOf(
  ranges: RowRanges,
  { rows, rowGroupRows }: { readonly rows: number; readonly rowGroupRows: number },
): RowSet {
  const count = countRows(ranges);
  if (count === 0) return { kind: "none" };
  if (count === rows) return { kind: "all" };
  if (count <= LISTED_ROWS_MAX) return { kind: "rows", rows: listed(ranges, count) };
  const groups: number[] = [];
  for (let at = 0; at < ranges.starts.length; at += 1) {
    const first = Math.floor((ranges.starts[at] as number) / rowGroupRows);
    const last = Math.floor(((ranges.ends[at] as number) - 1) / rowGroupRows);
    for (let group = Math.max(first, (groups.at(-1) ?? -1) + 1); group <= last; group += 1) {
      groups.push(group);
    }
  }
  if (groups.length === Math.ceil(rows / rowGroupRows)) return { kind: "all" };
  return { kind: "groups", groups: Uint32Array.from(groups), groupRows: rowGroupRows };
}

function listed({ starts, ends }: RowRanges, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  let next = 0;
  for (let at = 0; at < starts.length; at += 1) {
    for (let row = starts[at] as number; row < (ends[at] as number); row += 1, next += 1) {
      rows[next] = row;
    }
  }
  return rows;
}

function* merged(a: RowRanges, b: RowRanges): Generator<{ start: number; end: number }> {
  for (let i = 0, j = 0; i < a.starts.length || j < b.starts.length;) {
    const isA = j === b.starts.length ||
      (i < a.starts.length && (a.starts[i] as number) <= (b.starts[j] as number));
    const [from, at] = isA ? [a, i++] : [b, j++];
    yield { start: from.starts[at] as number, end: from.ends[at] as number };
  }
}

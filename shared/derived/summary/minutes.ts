/** In which minute each row of a data file is. */

import { halvesOf, int64At } from "../../columns/timestamps.ts";
import type { ColumnPiece } from "./value_table.ts";

const MICROS_PER_MINUTE = 60_000_000;

/** Runs of rows of one minute, in order. */
export interface Minutes {
  readonly minutes: readonly number[];
  /** The first row of each run; then the number of rows. */
  readonly starts: readonly number[];
}

/** Undefined when rows are not in order of time. */
export function minutesOf(pieces: readonly ColumnPiece[]): Minutes | undefined {
  const minutes: number[] = [];
  const starts: number[] = [];
  let end = 0;
  let last = -Infinity;
  for (const { data, rows } of pieces) {
    const halves = halvesOf(data, rows);
    for (let row = 0; row < rows;) {
      const minute = Math.floor(int64At(halves, row) / MICROS_PER_MINUTE);
      if (int64At(halves, row) < last) return undefined;
      if (minutes.at(-1) !== minute) {
        minutes.push(minute);
        starts.push(end + row);
      }
      row = endOfMinute(halves, { from: row, rows, next: (minute + 1) * MICROS_PER_MINUTE });
      if (row < 0) return undefined;
      last = int64At(halves, row - 1);
    }
    end += rows;
  }
  return { minutes, starts: [...starts, end] };
}

/** The first row behind `from` from time `next` on; -1: a time is less than the one before it. */
function endOfMinute(
  halves: Int32Array,
  { from, rows, next }: { readonly from: number; readonly rows: number; readonly next: number },
): number {
  let last = -Infinity;
  for (let row = from; row < rows; row += 1) {
    const micros = int64At(halves, row);
    if (micros < last) return -1;
    if (micros >= next) return row;
    last = micros;
  }
  return rows;
}

/** How many rows run `at` has. */
export function rowsOfRun({ starts }: Pick<Minutes, "starts">, at: number): number {
  return (starts[at + 1] as number) - (starts[at] as number);
}

/** The number of its run by row. */
export function runOfRow({ minutes, starts }: Minutes, rows: number): Uint32Array {
  const runs = new Uint32Array(rows);
  for (let at = 0; at < minutes.length; at += 1) {
    runs.fill(at, starts[at] as number, starts[at + 1] as number);
  }
  return runs;
}

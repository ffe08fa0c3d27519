/** Row numbers of a data file in the forms that DuckDB can be told. Pure. */

import type { RowRange } from "../plan/plan.ts";

/** Blocks of 2^shift rows: number n is the rows from n·2^shift on. */
export interface RowBlocks {
  readonly shift: number;
  /** The numbers, ascending. */
  readonly numbers: readonly number[];
}

/**
 * Rows are told in so many ranges at most. DuckDB skips between them, but compares each row with
 * each.
 */
export const RANGES_MAX = 12;

/** Consecutive row numbers. */
export interface NumberRun {
  readonly first: number;
  /** The last number, inclusive. */
  readonly last: number;
}

const SHIFT_MAX = 30;

/** Runs of consecutive ascending numbers. */
export function runsOf(numbers: Uint32Array): NumberRun[] {
  const runs: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run !== undefined && run.last + 1 === number) run.last = number;
    else runs.push({ first: number, last: number });
  }
  return runs;
}

/**
 * The largest blocks that are just these rows of `range`: the first and the last one may reach
 * beyond it.
 */
export function blocksOf(runs: readonly NumberRun[], range: RowRange): RowBlocks {
  let shift = SHIFT_MAX;
  for (const { first, last } of runs) {
    const ends = (first === range.first ? 0 : first) | (last + 1 === range.end ? 0 : last + 1);
    shift = Math.min(shift, trailingZeros(ends));
  }
  const numbers: number[] = [];
  for (const { first, last } of runs) {
    for (let block = first >> shift; block <= last >> shift; block += 1) numbers.push(block);
  }
  return { shift, numbers };
}

function trailingZeros(value: number): number {
  return value === 0 ? SHIFT_MAX : 31 - Math.clz32(value & -value);
}

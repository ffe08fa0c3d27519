/** Measures of one column by key, added up over files. */

import type { MeasureKind } from "./summary_blobs.ts";

export interface MeasuredCell {
  /** Values that are not NULL, at least one. */
  readonly values: number;
  readonly smallest: bigint | number;
  readonly largest: bigint | number;
  /** In multiples of 2^-`units`; 0 where there is no sum. */
  readonly sum: bigint;
  /** The sum of absolute values, kept for doubles only. */
  readonly absolutes: bigint;
}

export interface MeasuredCells {
  readonly kind: MeasureKind;
  /** undefined: there is no sum. */
  readonly units: number | undefined;
  /** By `cellKey`. */
  readonly cells: ReadonlyMap<number, MeasuredCell>;
}

/** Kinds are the same, or no values of one of them: a column keeps its type. */
export function sumOfMeasures(parts: readonly MeasuredCells[]): MeasuredCells | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const units = commonUnits(parts);
  const cells = new Map<number, MeasuredCell>();
  for (const part of parts) {
    const shift = units === undefined ? 0n : BigInt(units - (part.units ?? units));
    for (const [key, cell] of part.cells) {
      const scaled = { ...cell, sum: cell.sum << shift, absolutes: cell.absolutes << shift };
      const before = cells.get(key);
      cells.set(key, before === undefined ? scaled : sumOf(before, scaled));
    }
  }
  return { kind: first.kind, units, cells };
}

/** The finest of all parts that have values; none where one of them has none. */
function commonUnits(parts: readonly MeasuredCells[]): number | undefined {
  let units = 0;
  for (const part of parts) {
    if (part.cells.size === 0) continue;
    if (part.units === undefined) return undefined;
    units = Math.max(units, part.units);
  }
  return units;
}

function sumOf(one: MeasuredCell, other: MeasuredCell): MeasuredCell {
  return {
    values: one.values + other.values,
    smallest: isLess(other.smallest, one.smallest) ? other.smallest : one.smallest,
    largest: isLess(one.largest, other.largest) ? other.largest : one.largest,
    sum: one.sum + other.sum,
    absolutes: one.absolutes + other.absolutes,
  };
}

/** Compares as DuckDB does: NaN is the largest. */
function isLess(one: bigint | number, other: bigint | number): boolean {
  if (Number.isNaN(other)) return !Number.isNaN(one);
  return one < other;
}

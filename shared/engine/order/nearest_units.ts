/**
 * Which rows can be among the newest or oldest N, where only the times of whole units are known: of
 * files, of row groups, of segments of the WAL.
 */

import type { TimeRange } from "../../iceberg/types.ts";

/** The rows that a statement wants in order of time. */
export interface OrderedRequest {
  readonly direction: "newest" | "oldest";
  /** LIMIT + OFFSET, in rows. */
  readonly rows: number;
}

/** Rows between two times, in Unix microseconds, both inclusive and both met by a row. */
export interface TimedUnit {
  readonly min: bigint;
  readonly max: bigint;
  readonly rows: number;
}

/** Returns the units that can hold one of the first `request.rows` rows of the answer. */
export function nearestUnits<Unit extends TimedUnit>(
  units: readonly Unit[],
  range: TimeRange,
  { direction, rows }: OrderedRequest,
): Set<Unit> {
  if (rows === 0) return new Set(); // LIMIT 0: clients ask so for the columns.
  const sign = direction === "newest" ? -1 : 1;
  const near = (unit: Unit) => direction === "newest" ? unit.max : unit.min;
  const far = (unit: Unit) => direction === "newest" ? unit.min : unit.max;
  const certain = units.filter((unit) => isInside(unit, range))
    .sort((a, b) => sign * compareTimes(far(a), far(b)));
  let held = 0;
  let threshold: bigint | undefined;
  for (const unit of certain) {
    if (held >= rows) break;
    held += unit.rows;
    threshold = far(unit);
  }
  if (held < rows || threshold === undefined) return new Set(units);
  const limit = threshold;
  return new Set(units.filter((unit) => sign * compareTimes(near(unit), limit) <= 0));
}

/** Whether every row of a unit satisfies the time range. */
export function isInside(unit: TimedUnit, range: TimeRange): boolean {
  if (range.minNs !== undefined && unit.min * 1_000n < range.minNs) return false;
  return !(range.maxNs !== undefined && unit.max * 1_000n + 999n > range.maxNs);
}

/** Orders times, the earlier first. */
export function compareTimes(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Bounds in Unix nanoseconds as those of `TimedUnit`. */
export function unitTimes(
  { timestampNsMin, timestampNsMax }: {
    readonly timestampNsMin: bigint;
    readonly timestampNsMax: bigint;
  },
): Pick<TimedUnit, "min" | "max"> {
  return { min: floorMicros(timestampNsMin), max: floorMicros(timestampNsMax) };
}

function floorMicros(ns: bigint): bigint {
  return ns >= 0n ? ns / 1_000n : (ns - 999n) / 1_000n;
}

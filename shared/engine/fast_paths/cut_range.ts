/**
 * The days and minutes of a range of time, by which summaries count rows, and the ends at which the
 * range cuts through them.
 */

import { floorDiv } from "../../base/floor_div.ts";
import { NS_PER_DAY } from "../../base/time.ts";
import { cellKey, type Cells, cellsBetween } from "../../derived/summary/cells.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import { lieIn } from "../plan/plan.ts";

const NS_PER_MINUTE = 60_000_000_000n;

/** More minutes than there are in the years that a table can hold. */
const MINUTES_MAX = 2 ** 32;

/** Files with rows on days of a range. */
export interface FilesOfRange {
  /** Files of days whose rows are all in the range. */
  readonly whole: readonly DataFile[];
  /** All files of the other days. */
  readonly cut: readonly DataFile[];
  /** How many other days there are. */
  readonly cutDays: number;
}

/** Minutes since 1970: [first, end). */
export interface MinuteRange {
  readonly first: number;
  readonly end: number;
}

/** Files of the range by whether it has their days as a whole. */
export async function filesOfRange(
  range: TimeRange,
  filesIn: (range: TimeRange) => Promise<readonly DataFile[]>,
): Promise<FilesOfRange> {
  const { minNs, maxNs } = range;
  const files = await filesIn({
    minNs: minNs === undefined ? undefined : floorDiv(minNs, NS_PER_DAY) * NS_PER_DAY,
    maxNs: maxNs === undefined ? undefined : (floorDiv(maxNs, NS_PER_DAY) + 1n) * NS_PER_DAY - 1n,
  });
  const whole: DataFile[] = [];
  const cut: DataFile[] = [];
  let cutDays = 0;
  for (const ofDay of Map.groupBy(files, ({ day }) => day).values()) {
    const isWhole = ofDay.every((file) => lieIn(range, file.timestampNsMin, file.timestampNsMax));
    (isWhole ? whole : cut).push(...ofDay);
    if (!isWhole) cutDays += 1;
  }
  return { whole, cut, cutDays };
}

/** Minutes that lie wholly in the range. */
export function wholeMinutes({ minNs, maxNs }: TimeRange): MinuteRange {
  return {
    first: minNs === undefined ? -MINUTES_MAX : Number(-floorDiv(-minNs, NS_PER_MINUTE)),
    end: maxNs === undefined ? MINUTES_MAX : Number(floorDiv(maxNs + 1n, NS_PER_MINUTE)),
  };
}

/** Minutes of which the range has at least a part. */
export function touchedMinutes({ minNs, maxNs }: TimeRange): MinuteRange {
  return {
    first: minNs === undefined ? -MINUTES_MAX : Number(floorDiv(minNs, NS_PER_MINUTE)),
    end: maxNs === undefined ? MINUTES_MAX : Number(floorDiv(maxNs, NS_PER_MINUTE)) + 1,
  };
}

/** What the range has besides its whole minutes. */
export function endsOf(range: TimeRange): readonly TimeRange[] {
  const { first, end } = wholeMinutes(range);
  if (first >= end) return [range];
  const { minNs, maxNs } = range;
  return [
    ...minNs === undefined ? [] : [{ minNs, maxNs: timeOf(first) - 1n }],
    ...maxNs === undefined ? [] : [{ minNs: timeOf(end), maxNs }],
  ].filter(isNotEmpty);
}

/** What the minutes that the range touches have besides it. */
export function widenedBy(range: TimeRange): readonly TimeRange[] {
  const { first, end } = touchedMinutes(range);
  const { minNs, maxNs } = range;
  return [
    ...minNs === undefined ? [] : [{ minNs: timeOf(first), maxNs: minNs - 1n }],
    ...maxNs === undefined ? [] : [{ minNs: maxNs + 1n, maxNs: timeOf(end) - 1n }],
  ].filter(isNotEmpty);
}

/** From the start of the first of the minutes to the end of the last. */
export function timesOf({ first, end }: MinuteRange): TimeRange {
  return { minNs: timeOf(first), maxNs: timeOf(end) - 1n };
}

/** The cells of these minutes, by which their keys begin. */
export function cellsIn(cells: Cells, { first, end }: MinuteRange): Cells {
  return cellsBetween(cells, cellKey(first, 0), cellKey(end, 0));
}

function timeOf(minute: number): bigint {
  return BigInt(minute) * NS_PER_MINUTE;
}

function isNotEmpty(
  { minNs, maxNs }: { readonly minNs: bigint; readonly maxNs: bigint },
): boolean {
  return minNs <= maxNs;
}

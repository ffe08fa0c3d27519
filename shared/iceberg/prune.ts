/**
 * Which manifests and data files can hold rows of a time range: inclusive, so a file that is left
 * out has no such row. By day first, then by the bounds of `timestamp_ns`.
 */

import { dayOfNs } from "../base/time.ts";
import { decodeSingleValue } from "./single_value.ts";
import type { ManifestFile } from "./manifest_list.ts";
import type { DataFile, TimeRange } from "./types.ts";

/** What may have rows in a range. */
export interface RangeFilter {
  /** Whether a file of the manifest may, by its days. */
  readonly manifest: (manifest: ManifestFile) => boolean;
  /** Whether the file may, by its day and the bounds of `timestamp_ns`. */
  readonly file: (file: DataFile) => boolean;
}

/** Returns what tells which manifests and files may have rows in `range`. */
export function rangeFilter({ minNs, maxNs }: TimeRange): RangeFilter {
  const dayMin = minNs === undefined ? -Infinity : dayOfNs(minNs);
  const dayMax = maxNs === undefined ? Infinity : dayOfNs(maxNs);
  return {
    manifest: ({ partitions }) => {
      const summary = partitions?.[0];
      if (summary === undefined || summary.containsNull) return true;
      if (summary.lowerBound === undefined || summary.upperBound === undefined) return true;
      const first = decodeSingleValue("int", summary.lowerBound) as number;
      const last = decodeSingleValue("int", summary.upperBound) as number;
      return first <= dayMax && last >= dayMin;
    },
    file: ({ day, timestampNsMin, timestampNsMax }) =>
      day <= dayMax && day >= dayMin &&
      (maxNs === undefined || timestampNsMin === undefined || timestampNsMin <= maxNs) &&
      (minNs === undefined || timestampNsMax === undefined || timestampNsMax >= minNs),
  };
}

/** Order of files by time: the day, then the oldest row, then the key so that it is total. */
export function compareFiles(a: DataFile, b: DataFile): number {
  if (a.day !== b.day) return a.day - b.day;
  const minA = a.timestampNsMin ?? -1n;
  const minB = b.timestampNsMin ?? -1n;
  if (minA !== minB) return minA < minB ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

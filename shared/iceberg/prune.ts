/**
 * Which manifests and data files can hold rows of a time range: inclusive, so a file that is left
 * out has no such row. By day first, then by the bounds of `timestamp_ns`.
 */

import { dayOfNs } from "../base/time.ts";
import { decodeSingleValue } from "./single_value.ts";
import type { ManifestFile } from "./manifest_list.ts";
import type { DataFile, TimeRange } from "./types.ts";

/** Whether a file of the manifest may have rows in the range, by its days. */
export function manifestMayMatch(manifest: ManifestFile, range: TimeRange): boolean {
  const summary = manifest.partitions?.[0];
  if (summary === undefined || summary.containsNull) return true;
  if (summary.lowerBound === undefined || summary.upperBound === undefined) return true;
  const dayMin = decodeSingleValue("int", summary.lowerBound) as number;
  const dayMax = decodeSingleValue("int", summary.upperBound) as number;
  return daysOverlap(dayMin, dayMax, range);
}

/** Whether the file may have rows in the range, by its day and the bounds of `timestamp_ns`. */
export function fileMayMatch(file: DataFile, range: TimeRange): boolean {
  if (!daysOverlap(file.day, file.day, range)) return false;
  const { timestampNsMin, timestampNsMax } = file;
  if (range.maxNs !== undefined && timestampNsMin !== undefined && timestampNsMin > range.maxNs) {
    return false;
  }
  return range.minNs === undefined || timestampNsMax === undefined || timestampNsMax >= range.minNs;
}

/** Order of files by time: the day, then the oldest row, then the key so that it is total. */
export function compareFiles(a: DataFile, b: DataFile): number {
  if (a.day !== b.day) return a.day - b.day;
  const minA = a.timestampNsMin ?? -1n;
  const minB = b.timestampNsMin ?? -1n;
  if (minA !== minB) return minA < minB ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function daysOverlap(dayMin: number, dayMax: number, range: TimeRange): boolean {
  if (range.maxNs !== undefined && dayMin > dayOfNs(range.maxNs)) return false;
  return range.minNs === undefined || dayMax >= dayOfNs(range.minNs);
}

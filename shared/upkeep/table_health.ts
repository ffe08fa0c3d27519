/** How a table is: what `svc table-info` prints and the table gauges show. Pure. */

import { totalRows } from "../base/total_rows.ts";
import { isFullFile } from "../iceberg/locations.ts";
import type { DataFile } from "../iceberg/types.ts";
import { overlapDepth } from "./plan_merge.ts";

export interface FileCounts {
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
}

export interface FileLevel extends FileCounts {
  /** `full`, or the rows of its files: from this many, below eight times as many. */
  readonly level: "full" | number;
}

export interface TableHealth extends FileCounts {
  readonly days: number;
  /** How many files overlap at one time in the day in which most do. */
  readonly overlapDepth: number;
  /** Full files first, then by descending rows. */
  readonly levels: readonly FileLevel[];
}

const LEVEL_FACTOR = 8;

/** How a table's live files are spread: by day, by level, and how many overlap. */
export function tableHealth(files: readonly DataFile[]): TableHealth {
  const days = Map.groupBy(files, ({ day }) => day);
  const levels = Map.groupBy(files, levelOf);
  return {
    ...countsOf(files),
    days: days.size,
    overlapDepth: Math.max(0, ...[...days.values()].map(overlapDepth)),
    levels: [...levels].map(([level, members]) => ({ level, ...countsOf(members) }))
      .sort((a, b) => rankOf(b.level) - rankOf(a.level)),
  };
}

function countsOf(files: readonly DataFile[]): FileCounts {
  return {
    files: files.length,
    rows: totalRows(files),
    bytes: files.reduce((sum, { byteLength }) => sum + byteLength, 0),
  };
}

function levelOf({ key, rows }: DataFile): FileLevel["level"] {
  if (isFullFile(key)) return "full";
  let level = 1;
  while (rows >= level * LEVEL_FACTOR) level *= LEVEL_FACTOR;
  return level;
}

function rankOf(level: FileLevel["level"]): number {
  return level === "full" ? Infinity : level;
}

/**
 * Which row groups of its files a plan needs: those whose times meet the table's time range, and
 * whose bounds meet its condition. DuckDB is told by row numbers. So it leaves the others alone
 * whatever it makes of the statement's own conditions. Pure.
 */

import type { RowGroup } from "../../../parquet/footer.ts";
import { boundsOfRowGroup, dependsOnBounds, mayMeet } from "../../pruning/column_bounds.ts";
import { ALL } from "../../pruning/predicate.ts";
import { meets, type RowRange, type ScanPart, type TablePlan } from "../../plan/plan.ts";
import type { FileLayout } from "./file_layout.ts";

/**
 * Files of a table read in part, each by a scan of its own. With more of them, they are read whole,
 * in one scan.
 */
const PARTIAL_FILES_MAX = 64;

/** Whether `scannedParts` leaves the parts of a table as they are, whatever its files hold. */
export function isSettled({ parts, range, pruned }: TablePlan): boolean {
  const condition = pruned?.condition ?? ALL;
  return (range.minNs === undefined && range.maxNs === undefined && !dependsOnBounds(condition)) ||
    parts.every((part) => part.origin !== "file" || part.range !== undefined);
}

/**
 * The parts to scan of a table. `layoutOf` gives each data file's layout by its path. Parts that
 * hold no row of it are left out.
 */
export function scannedParts(
  table: TablePlan,
  layoutOf: (path: string) => FileLayout,
): readonly ScanPart[] {
  const { parts } = table;
  if (isSettled(table)) return parts;
  const narrowed = parts.map((part) => {
    if (part.origin !== "file" || part.range !== undefined) return part;
    const groups = layoutOf(part.path).footer.rowGroups;
    const first = groups.findIndex((group) => mayHold(group, table));
    const last = groups.findLastIndex((group) => mayHold(group, table));
    if (first < 0) return undefined;
    return last - first + 1 === groups.length
      ? part
      : { ...part, range: rowsOf(groups, first, last), rowGroupsRead: last - first + 1 };
  });
  const partial = narrowed.filter((part, at) => part !== undefined && part !== parts[at]);
  const tooMany = partial.length > PARTIAL_FILES_MAX;
  return narrowed.flatMap((part, at) => {
    const whole = parts[at];
    if (part === undefined || whole === undefined) return [];
    return [tooMany ? whole : part];
  });
}

function mayHold(group: RowGroup, { range, pruned }: TablePlan): boolean {
  if (!mayMeet(pruned?.condition ?? ALL, boundsOfRowGroup(group.columns))) return false;
  const { timestampMin: min, timestampMax: max } = group;
  if (min === undefined || max === undefined) return true;
  return meets(range, min * 1_000n, max * 1_000n + 999n);
}

function rowsOf(groups: readonly RowGroup[], first: number, last: number): RowRange {
  const end = groups[last];
  return { first: groups[first]?.firstRow ?? 0, end: (end?.firstRow ?? 0) + (end?.rows ?? 0) };
}

/**
 * Figures out of DuckDB's own JSON profile. Only what is counted exactly is taken: rows that scans
 * of data files emitted, files they opened, peak bytes of spill. Its byte counters leave out what
 * came from its cache, so bytes are the plan's (`shared/engine/answer/stats.ts`).
 */

import { ROWS_COLUMN, VALUE_COLUMN } from "../../derived/summary/value_counts.ts";
import type { RunProfile } from "./driver.ts";

/** A node of DuckDB's JSON profile, as far as it is read. */
export interface ProfileNode {
  readonly operator_name?: string;
  readonly operator_cardinality?: number;
  readonly system_peak_temp_dir_size?: number;
  readonly extra_info?: Readonly<Record<string, unknown>>;
  readonly children?: readonly ProfileNode[];
}

/**
 * Reads a profile. `spillPeakBefore` is what the connection's profile said before the statement, of
 * all that ran on it by then.
 */
export function runProfileOf(
  root: ProfileNode,
  { spillPeakBefore }: { readonly spillPeakBefore: number },
): RunProfile {
  let rowsScanned = 0;
  let filesRead = 0;
  const visit = (node: ProfileNode) => {
    const name = node.operator_name?.trim();
    if (name === "READ_PARQUET" && !isOfSummaries(node)) {
      rowsScanned += node.operator_cardinality ?? 0;
      filesRead += Number(node.extra_info?.["Total Files Read"] ?? 0) || 0;
    }
    for (const child of node.children ?? []) visit(child);
  };
  visit(root);
  const spillPeak = root.system_peak_temp_dir_size ?? 0;
  return { rowsScanned, filesRead, spillBytes: spillPeak > spillPeakBefore ? spillPeak : 0 };
}

const SUMMARY_COLUMNS: ReadonlySet<unknown> = new Set([VALUE_COLUMN, ROWS_COLUMN]);

/**
 * Whether a scan reads counts of summaries (`fast_paths/`), which lie in files, too. They are no
 * rows of the table.
 */
function isOfSummaries({ extra_info: info }: ProfileNode): boolean {
  const columns = [info?.["Projections"] ?? []].flat();
  return columns.length > 0 && columns.every((column) => SUMMARY_COLUMNS.has(column));
}

/** The profile of a statement that was run in steps. */
export function sumOfProfiles(
  before: RunProfile | undefined,
  next: RunProfile | undefined,
): RunProfile | undefined {
  if (before === undefined || next === undefined) return before ?? next;
  return {
    rowsScanned: before.rowsScanned + next.rowsScanned,
    filesRead: before.filesRead + next.filesRead,
    spillBytes: Math.max(before.spillBytes, next.spillBytes),
  };
}

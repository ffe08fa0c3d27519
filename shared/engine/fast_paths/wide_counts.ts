/** Counts of a column with many values: whether a statement takes them, and which. */

import { NS_PER_DAY } from "../../base/time.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import type { TableCubes } from "./table_answers.ts";
import type { WeightedStatement } from "./weighted_statement.ts";
import type { WideCounts, WideKind } from "./wide_column.ts";

/**
 * Counts of a column with many values are left alone when more than a fourth of the rows are read
 * in any case. Joining both sources costs twice a scan.
 */
const READ_SHARE_MIN = 4;

/** Where counts are, and how exact they must be. */
export interface WideCountsSource {
  readonly cubes: Pick<TableCubes, "wide" | "wideIds">;
  readonly connection: Pick<EngineConnection, "texts">;
  readonly signal: AbortSignal;
  /**
   * Whether the answer must equal the scan's. Else the most frequent values may come with bounds of
   * their counts.
   */
  readonly isExact: boolean;
  /** Whether nothing will run: counts of columns with many values are then not brought together. */
  readonly planOnly: boolean;
}

/** The column that is counted by value, where there is nothing else to count by. */
export function wideColumnOf(
  { columns: [column, ...more], minutes, measures, filter, filled }: WeightedStatement,
): Column | undefined {
  if (column?.words !== undefined || filter !== undefined || filled.length > 0) return undefined;
  return minutes || measures.length > 0 || more.length > 0 ? undefined : column;
}

/**
 * Counts of `files`, each of which counts the column as it is. Undefined: the files are read. The
 * caller disposes of them.
 */
export async function wideCounts(
  column: Column,
  { files, range, isPlainTop }:
    & { readonly files: readonly DataFile[]; readonly range: TimeRange }
    & Pick<WeightedStatement, "isPlainTop">,
  { cubes, connection, signal, isExact, planOnly }: WideCountsSource,
): Promise<WideCounts | undefined> {
  const days = [range.minNs, range.maxNs].map((ns) =>
    ns === undefined ? null : String(ns / NS_PER_DAY)
  ).join();
  const ask = (kind: WideKind) => {
    const wide = cubes.wide(column, days, kind);
    return planOnly ? wide.look(files) : wide.of(files, { connection, signal });
  };
  const mayBeInexact = !isExact && isPlainTop;
  // Rows of many values that are read besides are grouped at the price of a scan.
  const look = await cubes.wide(column, days, "all").look(files);
  const isScanned = totalRows(look.without) * READ_SHARE_MIN > totalRows(files);
  look[Symbol.dispose]();
  if (isScanned && !mayBeInexact) return undefined;
  let counts = await ask("all");
  if (counts.without.length > 0 && mayBeInexact) {
    counts[Symbol.dispose]();
    counts = await ask("top");
  }
  if (counts.without.length === files.length) {
    counts[Symbol.dispose]();
    return undefined;
  }
  cubes.wideIds.add(column.id);
  return counts;
}

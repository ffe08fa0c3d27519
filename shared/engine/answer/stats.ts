/**
 * What a run measured, in the words of docs/api/query.md#stats. Rows, files and spill come from
 * DuckDB's profile of the run. Bytes are those that the wanted columns take in the files, of what
 * was scanned. A scan in steps counts the steps that were run, and a part of a file its share of
 * the rows. What DuckDB left out of that by itself counts, since it tells of no byte that its cache
 * gave it. A figure that was not measured is left out.
 */

import type { FileCacheCounts, StoreReadsReport } from "../files/data_files.ts";
import type { RunProfile } from "../duckdb/driver.ts";
import { sumOfLost } from "../plan/lost_rows.ts";
import {
  countFiles,
  partBytes,
  type Plan,
  planRows,
  rowsOfParts,
  type TablePlan,
} from "../plan/plan.ts";
import type { Phases, ScanOrdering, ScanStats, ServedBy, Stats } from "../types.ts";

/** The statistics of one run: rows, bytes and microseconds. */
export function statsOf(
  plan: Plan,
  run: {
    readonly profile: RunProfile | undefined;
    /** Bytes of the plans that were run: `planBytes`. */
    readonly bytesScanned: number;
    readonly phases: Phases;
    readonly ordering: ScanOrdering;
    /** Where it is counted. */
    readonly reads: StoreReadsReport | undefined;
    /** Absent when there is no such cache. */
    readonly decoded?: FileCacheCounts | undefined;
    readonly servedBy: ServedBy;
    /** For a request that asked for one: `plan/snapshot_pin.ts`. */
    readonly pin: string | undefined;
  },
): Stats {
  const { profile, phases, ordering, reads, decoded, servedBy } = run;
  const plannedBytes = planBytes(plan);
  const base = {
    rows_scanned: profile?.rowsScanned ?? 0,
    bytes_scanned: run.bytesScanned,
    spill_bytes: profile?.spillBytes ?? 0,
    phases,
    served_by: servedBy,
    ...(run.pin === undefined ? {} : { snapshot: run.pin }),
    ...walDamageOf(plan),
  };
  if (plan.tables.every(({ parts }) => parts.length === 0)) return base;
  return {
    ...base,
    scan: scanOf(plan.tables, { plannedBytes, profile, ordering, reads, decoded }),
  };
}

/** What the answer lacks because it is damaged; without damage nothing. */
function walDamageOf({ tables }: Plan): Pick<Stats, "wal_damage"> {
  const lost = sumOfLost(tables.map((table) => table.lost));
  if (lost === undefined) return {};
  const { segments, bytes, rows } = lost;
  return { wal_damage: { segments, bytes, ...(rows === undefined ? {} : { rows }) } };
}

/** Bytes of the columns that a plan's tables want, in what it reads, as often as it reads it. */
export function planBytes({ tables }: Plan): number {
  return sum(
    tables.flatMap(({ parts, projected, scans }) =>
      parts.map((part) => scans * partBytes(part, projected))
    ),
  );
}

function scanOf(
  tables: readonly TablePlan[],
  run: {
    readonly plannedBytes: number;
    readonly profile: RunProfile | undefined;
    readonly ordering: ScanOrdering;
    readonly reads: StoreReadsReport | undefined;
    readonly decoded: FileCacheCounts | undefined;
  },
): ScanStats {
  const parts = tables.flatMap((table) => table.parts);
  const planned = planRows({ tables });
  const files = countFiles(parts);
  const considered = sum(tables.flatMap((table) => [
    ...table.files.map((file) => Math.max(1, file.splitOffsets.length)),
    ...table.delta.map(() => 1),
  ]));
  const scan: ScanStats = {
    files_planned: files,
    // A scan that runs twice (late materialization, a self join) opens a file twice. Some scans do
    // not say what they open.
    files_read: Math.min(run.profile?.filesRead || files, files),
    planned_bytes: run.plannedBytes,
    planned_rows: planned,
    row_groups_considered: considered,
    ...readsOf(run.reads),
    ...fileCacheOf(run),
    ordering: run.ordering,
  };
  const pruned = tables.flatMap((table) => table.pruned ?? []);
  // Otherwise DuckDB alone chooses row groups, and does not tell which.
  if (pruned.length === 0 && !tables.some((table) => table.ordered)) return scan;
  const read = sum(parts.map((part) => part.rowGroupsRead));
  const byIndex = sum(pruned.map(({ rowGroups }) => rowGroups));
  return {
    ...scan,
    ...(pruned.length === 0 ? {} : {
      files_pruned_bloom: sum(pruned.map(({ files }) => files)),
      row_groups_pruned_bloom: byIndex,
    }),
    row_groups_pruned_stats: considered - read - byIndex,
    row_groups_read: read,
    rows_pruned_selection: sum(
      tables.map((table) =>
        sum([...table.files, ...table.delta].map(({ rows }) => rows)) -
        rowsOfParts(table.parts)
      ),
    ),
  };
}

/** What was asked of an object store: classes and counts of zero are left out. */
function readsOf(reads: StoreReadsReport | undefined): Partial<ScanStats> {
  if (reads === undefined) return {};
  const { footer, index, data, other } = reads.bytes;
  const counts = {
    bytes_footer: footer,
    bytes_index: index,
    bytes_data: data,
    bytes_other: other,
  };
  return {
    object_store_reads: reads.requests,
    fetched_bytes: reads.bytesFetched,
    ...withoutZeros(counts),
  };
}

/** Counts decoded columns where those are kept, else parts of an object store's files. */
function fileCacheOf(
  { decoded, reads }: {
    readonly decoded: FileCacheCounts | undefined;
    readonly reads: StoreReadsReport | undefined;
  },
): Partial<ScanStats> {
  return withoutZeros({
    file_cache_hits: decoded?.hits ?? reads?.filesHit ?? 0,
    file_cache_misses: decoded?.misses ?? reads?.filesMissed ?? 0,
  });
}

function withoutZeros(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

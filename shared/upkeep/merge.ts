/**
 * Merges data files of a table: looks at what its manifests say, and performs one task of the plan.
 *
 * Rows go from the files through `mergeRuns` into the writer that the drain has too, and take the
 * files' place in one commit (`commitRewrite`). A merge that ends before its commit leaves files
 * that no snapshot names; one whose files were taken by another rewrite meanwhile removes its own.
 * Appends are never lost to it and never make it write rows again.
 *
 * Memory: a row group or two of each file that overlaps at the place where the merge is, and the
 * rows of one output file.
 */

import { columnBytes } from "../columns/batch.ts";
import { dayOfNs, NS_PER_MS } from "../base/time.ts";
import { totalRows } from "../base/total_rows.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { isFullFile } from "../iceberg/locations.ts";
import type { DataFile, NewDataFile } from "../iceberg/types.ts";
import type { ParquetDecoder } from "../parquet/parquet_decoder.ts";
import { commitOrDiscard } from "../tables/commit_or_discard.ts";
import { DataFileWriter, type DataFileWriterDeps } from "../tables/data_file_writer.ts";
import { fileRun } from "../tables/file_run.ts";
import { mergeRuns } from "../tables/merge_runs.ts";
import {
  MERGE_POLICY_DEFAULT,
  type MergeCandidate,
  type MergePolicy,
  type MergeTask,
  planFileMerges,
} from "./plan_merge.ts";
import { textOfTable } from "../tables/text_of_table.ts";

export interface MergeDeps extends CommitDeps, DataFileWriterDeps {
  readonly decoder: ParquetDecoder;
}

/** What is due for a merge in one table. */
export interface MergePlan {
  readonly table: LoadedTable;
  /** The table's live files. */
  readonly files: readonly DataFile[];
  /** Most urgent first; no two have a file in common. */
  readonly tasks: readonly MergeTask[];
}

export interface MergeLookOptions {
  readonly policy?: MergePolicy;
  /** Files by key that are not to be merged now. */
  readonly isLeftAlone?: (key: string) => boolean;
}

/** What a merge did. */
export interface MergeReport {
  readonly outcome: "merged" | "superseded";
  readonly task: MergeTask;
  readonly rows: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly filesWritten: number;
  readonly secs: number;
  readonly retries: number;
}

export interface MergeOptions {
  /** Bytes of rows that make a full file; default `MERGED_INPUT_BYTES`. */
  readonly inputBytesMax?: number;
  /** Heeded between batches, never after the commit point. */
  readonly signal?: AbortSignal;
}

/**
 * Bytes of rows of a full file. It sets the memory of a merge: so many are shared by the threads,
 * and what is derived of them takes about as much again.
 */
export const MERGED_INPUT_BYTES = 48 * 1024 * 1024;
/** Bytes of rows after which what merging them left behind is collected. */
const COLLECTED_BYTES = 24 * 1024 * 1024;
/** A day of which no file is younger gets no more rows soon. */
const SETTLED_MS = 3_600_000;

/**
 * What there is to merge in a table; undefined when there is no such table. Errors: those of
 * reading it.
 */
export async function lookForMerges(
  given: CommitDeps,
  ident: TableIdent,
  { policy = MERGE_POLICY_DEFAULT, isLeftAlone = () => false }: MergeLookOptions = {},
): Promise<MergePlan | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  const table = await deps.reader.loadTable(ident, location);
  const nowMs = deps.clock.nowMs();
  const all = await candidatesOf(deps, table, nowMs);
  const candidates = all.filter(({ file }) => !isLeftAlone(file.key));
  const today = dayOfNs(BigInt(Math.floor(nowMs)) * NS_PER_MS);
  const state = { candidates, sortOrderId: table.sortOrderId, today };
  // A table that declares no order of its own is another program's.
  const tasks = table.sortOrderId === 0 ? [] : planFileMerges(state, policy);
  return { table, tasks, files: all.map(({ file }) => file) };
}

async function candidatesOf(
  deps: CommitDeps,
  table: LoadedTable,
  nowMs: number,
): Promise<MergeCandidate[]> {
  const addedMs = new Map(
    table.metadata.snapshots.map((one) => [one["snapshot-id"], one["timestamp-ms"]]),
  );
  const reader = readerOf(deps);
  const entries = await reader.liveEntries(table);
  // Another engine's deletes are applied first (`apply_deletes.ts`).
  const { touched } = await reader.hasDeletes(table)
    ? await reader.selectWithDeletes(table)
    : { touched: [] };
  const isTouched = new Set(touched.map(({ file }) => file.key));
  return entries.filter(({ file }) => !isTouched.has(file.key)).map(({ file, snapshotId }) => ({
    file,
    isFull: isFullFile(file.key),
    // A snapshot that expired was made long ago.
    isSettled: nowMs - (addedMs.get(snapshotId) ?? -Infinity) >= SETTLED_MS,
  }));
}

/**
 * Performs `task`, which was planned on `table`. Errors: the store's and the catalog's; `corrupt`,
 * `unprocessable`.
 */
export async function applyMerge(
  deps: MergeDeps,
  table: LoadedTable,
  task: MergeTask,
  options: MergeOptions = {},
): Promise<MergeReport> {
  const startMs = deps.clock.monotonicMs();
  const writer = new DataFileWriter(deps, table, {
    inputBytesMax: options.inputBytesMax ?? MERGED_INPUT_BYTES,
    text: await textOfTable(deps, table),
    marksFull: true,
    effort: "thorough",
    isPipelined: false,
  });
  let files: readonly NewDataFile[];
  try {
    const runs = task.files.map((file) => fileRun(deps, table, file));
    let bytes = 0;
    for await (const batch of mergeRuns(runs)) {
      options.signal?.throwIfAborted();
      bytes += columnBytes([batch]);
      await writer.add(batch);
      if (bytes < COLLECTED_BYTES) continue;
      bytes = 0;
      deps.collect?.();
    }
    files = await writer.finish();
  } catch (error) {
    await writer.discard();
    throw error;
  }
  const { outcome, retries } = await commitOrDiscard({ ...deps, ...options }, {
    ident: table.ident,
    tableUuid: table.uuid,
    kind: "merge",
    replaced: task.files,
    files,
  }, () => writer.discard());
  return {
    outcome: outcome === "committed" ? "merged" : "superseded",
    task,
    rows: totalRows(files),
    bytesRead: task.files.reduce((sum, file) => sum + file.byteLength, 0),
    bytesWritten: files.reduce((sum, file) => sum + file.byteLength, 0),
    filesWritten: files.length,
    secs: (deps.clock.monotonicMs() - startMs) / 1_000,
    retries,
  };
}

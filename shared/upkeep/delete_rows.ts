/**
 * One data file without some of its rows. What is left becomes new files, written as the drain
 * writes its own: in the same order, with field ids and sidecars. Nothing refers to them until the
 * caller commits.
 *
 * Memory: the file's bytes, and the rows of two new files (`shared/tables/data_file_writer.ts`).
 */

import { OperatingError } from "../base/errors.ts";
import { totalRows } from "../base/total_rows.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { takeRows } from "../columns/gather.ts";
import type { TextColumn } from "../derived/types.ts";
import type { MatchedRows } from "../engine/predicate/row_matcher.ts";
import type { DataFile, NewDataFile, Table } from "../iceberg/types.ts";
import { INLINE_PARQUET_DECODER } from "../parquet/parquet_decoder.ts";
import { DataFileWriter, type DataFileWriterDeps } from "../tables/data_file_writer.ts";
import { readBatches } from "../tables/file_run.ts";
import type { GoneRows } from "../tables/foreign_deletes.ts";

export interface DeleteRowsOptions {
  /** The columns of whose words the new files have an index. */
  readonly text: readonly TextColumn[];
  /** Heeded between row groups. */
  readonly signal?: AbortSignal;
}

/** What is left of a file. */
export interface FileRest {
  readonly files: readonly NewDataFile[];
  readonly rowsDeleted: number;
}

/**
 * The rows of `file` but for `gone`; no file when none are left. Errors: `corrupt` when the file
 * does not have the rows that the table says, or rows were lost on the way; the store's; the
 * signal's reason. After one nothing is left behind.
 */
export async function deleteRows(
  deps: DataFileWriterDeps,
  { table, file, gone }: {
    readonly table: Table;
    readonly file: DataFile;
    readonly gone: MatchedRows;
  },
  options: DeleteRowsOptions,
): Promise<readonly NewDataFile[]> {
  if (gone.count === file.rows) return [];
  const isGone: GoneRows = (_, first) => (at) => gone.has(first + at);
  const { files } = await restOfFile(deps, { table, file, isGone, count: gone.count }, options);
  return files;
}

/**
 * Deletes rows as `deleteRows` does, those that `isGone` says. `count`: how many rows go, where
 * that is known.
 */
export async function restOfFile(
  deps: DataFileWriterDeps,
  { table, file, isGone, count }: {
    readonly table: Table;
    readonly file: DataFile;
    readonly isGone: GoneRows;
    readonly count?: number;
  },
  options: DeleteRowsOptions,
): Promise<FileRest> {
  const writer = new DataFileWriter(deps, table, { text: options.text });
  try {
    let [seen, rest] = [0, 0];
    const { store } = deps;
    for await (
      const batch of readBatches({ store, decoder: INLINE_PARQUET_DECODER }, table, file)
    ) {
      options.signal?.throwIfAborted();
      const kept = withoutRows(batch, isGone(batch, seen));
      seen += batch.rows;
      rest += kept.rows;
      if (kept.rows > 0) await writer.add(kept);
    }
    const files = await writer.finish();
    const deleted = count ?? seen - rest;
    checkConserved(file, { seen, deleted, kept: totalRows(files) });
    return { files, rowsDeleted: deleted };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/** The rows of `batch` that are not gone. */
function withoutRows(batch: ColumnBatch, isGone: (at: number) => boolean): ColumnBatch {
  const row = new Uint32Array(batch.rows);
  let kept = 0;
  for (let at = 0; at < batch.rows; at += 1) {
    if (!isGone(at)) row[kept++] = at;
  }
  if (kept === batch.rows) return batch;
  return takeRows([batch], { batch: new Uint32Array(kept), row: row.subarray(0, kept) });
}

/** Row conservation, file by file: each row that was there is kept or deleted, and no other is. */
function checkConserved(
  file: DataFile,
  { seen, deleted, kept }: {
    readonly seen: number;
    readonly deleted: number;
    readonly kept: number;
  },
): void {
  if (seen === file.rows && kept + deleted === file.rows) return;
  throw new OperatingError(
    "corrupt",
    `Cannot delete rows of ${file.key}: the table says it has ${file.rows}, ${seen} were read, ` +
      `${deleted} deleted and ${kept} kept. Nothing was changed; restore the file from a copy.`,
    { reason: "rows_not_conserved" },
  );
}

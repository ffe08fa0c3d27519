/**
 * Whether this service can read what an engine adds to a table, exactly: each new file is looked at
 * before the commit. What cannot be read is refused by name.
 */

import { columnData } from "../../shared/columns/timestamps.ts";
import { dayOfNs } from "../../shared/base/time.ts";
import { viewOf } from "../../shared/base/bytes.ts";
import { totalRows } from "../../shared/base/total_rows.ts";
import type { LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { completeColumnsOf, isFullFile } from "../../shared/iceberg/locations.ts";
import type { DeleteContent, ListedFile } from "../../shared/iceberg/manifest.ts";
import { currentSnapshot } from "../../shared/iceberg/table_metadata.ts";
import { DELETE_COLUMN_IDS } from "../../shared/iceberg/touched_files.ts";
import { readFooter } from "../../shared/parquet/footer.ts";
import type { ParquetDecoder } from "../../shared/parquet/parquet_decoder.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import { readBatches } from "../../shared/tables/file_run.ts";
import { refusedCommit } from "./commit_request.ts";
import { requireOwn, type SnapshotChanges } from "./snapshot_changes.ts";

export interface SnapshotCheckDeps {
  readonly store: ReadableStore;
  readonly decoder: ParquetDecoder;
}

/** New files of one commit, and bytes of those that say they are sorted. */
const FILES_MAX = 2_000;
const FILE_BYTES_MAX = 1024 * 1024 * 1024;
const SORTED_BYTES_MAX = 256 * 1024 * 1024;
/** Rows of new delete files that statements and the compactor read at once. */
const DELETE_ROWS_MAX = 500_000;
const OPERATIONS = new Set(["append", "replace", "overwrite", "delete"]);
/** Footers read at the same time. */
const READS_MAX = 8;

/** Errors: `invalid_argument` (`commit_refused`), the store's, `corrupt`, the signal's reason. */
export async function checkSnapshot(
  deps: SnapshotCheckDeps,
  table: LoadedTable,
  changes: SnapshotChanges,
  signal: AbortSignal,
): Promise<void> {
  const { added } = changes;
  checkOperation(table, changes);
  if (added.length > FILES_MAX) {
    throw refusedCommit(`it adds ${added.length} files, ${FILES_MAX} are taken; commit in parts`);
  }
  const rows = added.reduce((sum, file) => sum + (file.deletes === undefined ? 0 : file.rows), 0);
  if (rows > DELETE_ROWS_MAX) {
    throw refusedCommit(
      `its delete files have ${rows} rows, ${DELETE_ROWS_MAX} are taken; delete by writing data ` +
        "files anew (write.delete.mode=copy-on-write)",
    );
  }
  for (let start = 0; start < added.length; start += READS_MAX) {
    signal.throwIfAborted();
    const batch = added.slice(start, start + READS_MAX);
    await Promise.all(batch.map((file) => checkFile(deps, table, file)));
  }
  await checkSorted(deps, table, { added, signal });
}

/** Readers of a table's history rely on what a snapshot says that it did. */
function checkOperation(
  { metadata }: LoadedTable,
  { added, removed, hasDeletes }: SnapshotChanges,
): void {
  const operation = currentSnapshot(metadata)?.summary?.["operation"] ?? "";
  if (!OPERATIONS.has(operation)) {
    throw refusedCommit(`operation ${JSON.stringify(operation)} is not known`);
  }
  const isMore = removed.length > 0 || added.some((file) => file.deletes !== undefined);
  if (operation === "append" && isMore) {
    throw refusedCommit('operation "append" deletes rows; say "overwrite" or "delete"');
  }
  if (operation === "replace" && !hasDeletes && totalRows(added) !== totalRows(removed)) {
    throw refusedCommit(
      `operation "replace" puts ${totalRows(added)} rows in the place of ${totalRows(removed)}`,
    );
  }
}

async function checkFile(
  { store }: SnapshotCheckDeps,
  table: LoadedTable,
  file: ListedFile,
): Promise<void> {
  const { key, byteLength } = file;
  const size = await requireOwn(store, table, { key, bytesMax: FILE_BYTES_MAX });
  if (size !== byteLength) throw refused(file, `it has ${size} bytes, not ${byteLength}`);
  if (!(Number.isSafeInteger(file.rows) && file.rows > 0)) throw refused(file, "it has no rows");
  if (file.keyMetadata !== undefined) throw refused(file, "it is encrypted");
  if (completeColumnsOf(key) !== 0n || isFullFile(key)) {
    throw refused(file, "its name says what only this service's own files do; choose another");
  }
  const footer = await readFooter(store, key, byteLength);
  if (footer.rows !== file.rows) {
    throw refused(file, `it has ${footer.rows} rows, not ${file.rows}`);
  }
  const ids = new Set(footer.rowGroups[0]?.columns.map(({ fieldId }) => fieldId));
  if (file.deletes !== undefined) return checkDelete(table, file, { deletes: file.deletes, ids });
  const missing = table.schema.columns.find((column) => column.required && !ids.has(column.id));
  if (missing !== undefined) {
    throw refused(file, `it lacks column ${missing.name}, field id ${missing.id}`);
  }
  for (const ns of [file.timestampNsMin, file.timestampNsMax]) {
    if (ns !== undefined && dayOfNs(ns) !== file.day) {
      throw refused(file, `timestamp_ns ${ns} is not of its day, ${file.day}`);
    }
  }
  for (const group of footer.rowGroups) {
    for (const ns of [group.timestampNsMin, group.timestampNsMax]) {
      if (ns !== undefined && dayOfNs(ns) !== file.day) {
        throw refused(file, `timestamp_ns ${ns} is not of its day, ${file.day}`);
      }
    }
    for (const us of [group.timestampMin, group.timestampMax]) {
      if (us !== undefined && dayOfNs(us * 1_000n) !== file.day) {
        throw refused(file, `timestamp ${us} is not of its day, ${file.day}`);
      }
    }
  }
}

function checkDelete(
  { schema }: LoadedTable,
  file: ListedFile,
  { deletes: { kind, equalityIds }, ids }: {
    readonly deletes: DeleteContent;
    readonly ids: ReadonlySet<number | undefined>;
  },
): void {
  const wanted = kind === "position" ? Object.values(DELETE_COLUMN_IDS) : equalityIds;
  const missing = wanted.find((id) => !ids.has(id));
  if (wanted.length === 0 || missing !== undefined) {
    throw refused(file, `it lacks the column with field id ${missing ?? "(none named)"}`);
  }
  const unknown = equalityIds.find((id) => !schema.columns.some((column) => column.id === id));
  if (unknown !== undefined) throw refused(file, `the table has no column with id ${unknown}`);
}

/** Ordered scans rely on the order that a file says it has. */
async function checkSorted(
  deps: SnapshotCheckDeps,
  table: LoadedTable,
  { added, signal }: { readonly added: readonly ListedFile[]; readonly signal: AbortSignal },
): Promise<void> {
  const sorted = added.filter((file) =>
    file.deletes === undefined && file.sortOrderId !== 0 && file.sortOrderId === table.sortOrderId
  );
  if (sorted.reduce((sum, { byteLength }) => sum + byteLength, 0) > SORTED_BYTES_MAX) {
    throw refusedCommit(
      `its files say that they are sorted and have more than ${SORTED_BYTES_MAX} bytes, which are ` +
        "not looked through; commit in parts",
    );
  }
  for (const file of sorted) {
    let last: readonly [bigint, bigint] | undefined;
    for await (const batch of readBatches(deps, table, file)) {
      signal.throwIfAborted();
      const times = viewOf(columnData(batch, "timestamp").values);
      const exact = viewOf(columnData(batch, "timestamp_ns").values);
      for (let at = 0; at < batch.rows; at += 1) {
        const next = [times.getBigInt64(8 * at, true), exact.getBigInt64(8 * at, true)] as const;
        if (last !== undefined && (next[0] < last[0] || next[0] === last[0] && next[1] < last[1])) {
          throw refused(file, "it says that it is sorted by time, and is not");
        }
        last = next;
      }
      batch.release?.();
    }
  }
}

function refused({ key }: ListedFile, why: string): Error {
  return refusedCommit(`file ${key} cannot be taken: ${why}`);
}

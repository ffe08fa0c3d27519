/**
 * Makes sidecars anew from committed data files, where their summaries are missing or damaged.
 *
 * No commit: a sidecar is no part of the table. It is removed and written again under its own name;
 * a statement in between finds none, and reads the rows. Safe to repeat, and beside everything
 * else: two that rebuild one sidecar write the same.
 */

import { isOperatingError } from "../base/errors.ts";
import type { CatalogReader } from "../catalog/catalog.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { deriveBlobs } from "../derived/derive.ts";
import { type Deriver, INLINE_DERIVER } from "../derived/deriver.ts";
import { sidecarKey, writeSidecar } from "../derived/sidecar.ts";
import { summaryBlobs, type SummaryLimits } from "../derived/summary/build_summary.ts";
import { checkSummary, SUMMARY_PARTS, type SummaryPart } from "../derived/summary/check_summary.ts";
import { textColumnsOf } from "../derived/text_columns.ts";
import type { Blob, FileRows } from "../derived/types.ts";
import { BUILT_IN_TABLES } from "../schema/built_in_tables.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { IcebergReader, LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { ParquetDecoder } from "../parquet/parquet_decoder.ts";
import { ROW_GROUP_ROWS } from "../parquet/row_groups.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { readBatches } from "../tables/file_run.ts";

export interface RebuildDeps {
  readonly store: ObjectStore;
  readonly catalog: Pick<CatalogReader, "indexState">;
  readonly decoder: ParquetDecoder;
  /** Default: the caller's thread. */
  readonly deriver?: Deriver;
}

export interface RebuildOptions {
  readonly part: SummaryPart;
  /**
   * Count typed columns by value also where they have more values than usual: up to
   * `WIDE_VALUES_MAX` a file.
   */
  readonly wide: boolean;
}

/** A file whose sidecar is made anew. */
export interface RebuildItem {
  readonly file: DataFile;
  readonly why: string;
}

export interface RebuildPlan {
  readonly table: LoadedTable;
  /** All files. */
  readonly live: readonly DataFile[];
  readonly items: readonly RebuildItem[];
}

/** Ids of a file's values have 16 bits. */
const WIDE_VALUES_MAX = 65_534;
const WIDE_BYTES_MAX = 16 * 1024 * 1024;

/** Errors: the store's. */
export async function planRebuild(
  { store, reader }: Pick<RebuildDeps, "store"> & { readonly reader: IcebergReader },
  table: LoadedTable,
  { part, wide }: RebuildOptions,
): Promise<RebuildPlan> {
  const { files } = await reader.selectWithDeletes(table);
  const wanted = {
    part,
    schema: table.schema,
    columns: wide ? typedColumns(table.schema) : [],
  };
  const items: RebuildItem[] = [];
  for (const file of files) {
    const checked = await checkSummary(store, file, wanted);
    if ("damage" in checked) items.push({ file, why: checked.damage });
  }
  return { table, live: files, items };
}

/** Makes one sidecar anew. Errors: `corrupt` when the data file cannot be read; the store's. */
export async function rebuildSidecar(
  deps: RebuildDeps,
  { table }: Pick<RebuildPlan, "table">,
  { file, wide }: { readonly file: DataFile; readonly wide: boolean },
): Promise<void> {
  const { store, catalog } = deps;
  const { ident } = table;
  const index = BUILT_IN_TABLES.has(ident.name)
    ? undefined
    : (await catalog.indexState(ident)).index;
  const batches: ColumnBatch[] = [];
  for await (const batch of readBatches(deps, table, file)) batches.push(batch);
  const { schema } = table;
  const rows: FileRows = {
    schema,
    rows: file.rows,
    batches,
    text: textColumnsOf(schema, index?.config.doc_mapping),
    rowGroupRows: ROW_GROUP_ROWS,
  };
  const subject = { key: file.key, rows: file.rows };
  const bytes = wide
    ? writeSidecar(wideBlobs(rows), subject)
    : await (deps.deriver ?? INLINE_DERIVER).derive(rows, subject);
  const key = sidecarKey(file.key);
  await store.delete([key]);
  try {
    await store.putNew(key, bytes);
  } catch (error) {
    // Somebody else has just made it.
    if (!isOperatingError(error, "conflict")) throw error;
  }
}

function wideBlobs(file: FileRows): Blob[] {
  const limits: SummaryLimits = { groupValuesMax: WIDE_VALUES_MAX, bytesMax: WIDE_BYTES_MAX };
  return [
    ...deriveBlobs(file).filter(({ type }) => !SUMMARY_PARTS.has(type)),
    ...summaryBlobs(file, limits),
  ];
}

function typedColumns({ columns, tags }: TableSchema): readonly number[] {
  return columns.filter(({ name, type }) =>
    name !== "timestamp_ns" && !tags.includes(name) && type !== "string" && type !== "timestamptz"
  ).map(({ id }) => id);
}

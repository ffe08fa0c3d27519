/**
 * Makes sidecars anew from committed data files, where their summaries are missing or damaged.
 *
 * No commit: a sidecar is no part of the table. It is removed and written again under its own name; whoever asks in between
 * finds none, and reads the rows. Safe to repeat, and beside everything else: two that rebuild one sidecar write the same.
 */

import { isOperatingError } from "../base/errors.ts";
import type { CatalogReader } from "../catalog/catalog.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { derive } from "../derived/derive.ts";
import { sidecarKey, writeSidecar } from "../derived/sidecar.ts";
import { summaryBlobs, type SummaryLimits } from "../derived/summary/build_summary.ts";
import { damageOf, SUMMARY_PARTS, type SummaryPart } from "../derived/summary/check_summary.ts";
import { textColumnsOf } from "../derived/text_columns.ts";
import type { Blob, FileRows } from "../derived/types.ts";
import { BUILT_IN_TABLES } from "../event/built_in_tables.ts";
import { columnOf, type TableSchema } from "../event/schema.ts";
import type { IcebergReader, LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { ROW_GROUP_ROWS } from "../parquet/row_groups.ts";
import type { ObjectStore } from "../storage/object_store.ts";

export interface RebuildDeps {
  readonly store: ObjectStore;
  readonly reader: IcebergReader;
  readonly catalog: Pick<CatalogReader, "indexState">;
}

export interface RebuildOptions {
  readonly part: SummaryPart;
  /** Count typed columns by value also where they have more values than usual: up to `WIDE_VALUES_MAX` a file. */
  readonly wide: boolean;
}

/** A file whose sidecar is made anew. */
export interface RebuildItem {
  readonly file: DataFile;
  readonly why: string;
}

export interface RebuildPlan {
  readonly table: LoadedTable;
  /** All live ones. */
  readonly files: number;
  readonly items: readonly RebuildItem[];
}

/** Ids of a file's values have 16 bits. */
const WIDE_VALUES_MAX = 65_534;
const WIDE_BYTES_MAX = 16 * 1024 * 1024;

/** Errors: the store's. */
export async function planRebuild(
  { store, reader }: RebuildDeps,
  table: LoadedTable,
  { part, wide }: RebuildOptions,
): Promise<RebuildPlan> {
  const { files } = await reader.selectFiles(table, { minNs: undefined, maxNs: undefined });
  const wanted = {
    part,
    timeId: columnOf(table.schema, "timestamp").id,
    columns: wide ? typedColumns(table.schema) : [],
  };
  const items: RebuildItem[] = [];
  for (const file of files) {
    const why = await damageOf(store, file, wanted);
    if (why !== undefined) items.push({ file, why });
  }
  return { table, files: files.length, items };
}

/** Makes one sidecar anew. Errors: `corrupt` when the data file cannot be read; the store's. */
export async function rebuildSidecar(
  { store, catalog }: RebuildDeps,
  { table }: RebuildPlan,
  { file, wide }: { readonly file: DataFile; readonly wide: boolean },
): Promise<void> {
  const { ident } = table;
  const index = BUILT_IN_TABLES.has(ident.name)
    ? undefined
    : (await catalog.indexState(ident)).index;
  const batches: ColumnBatch[] = [];
  for await (const batch of readParquet(await store.get(file.key), file.key)) batches.push(batch);
  const schema = schemaOf(batches, table.schema);
  const rows: FileRows = {
    schema,
    rows: file.rows,
    batches: batches.map((batch) => ({ ...batch, schema })),
    text: index?.config.index_at_flush === false
      ? []
      : textColumnsOf(schema, index?.config.doc_mapping),
    rowGroupRows: ROW_GROUP_ROWS,
  };
  const bytes = writeSidecar(blobsOf(rows, wide), { key: file.key, rows: file.rows });
  const key = sidecarKey(file.key);
  await store.delete([key]);
  try {
    await store.putNew(key, bytes);
  } catch (error) {
    // Somebody else has just made it.
    if (!isOperatingError(error, "conflict")) throw error;
  }
}

function blobsOf(file: FileRows, wide: boolean): Blob[] {
  const blobs = derive(file);
  if (!wide) return blobs;
  const limits: SummaryLimits = { groupValuesMax: WIDE_VALUES_MAX, bytesMax: WIDE_BYTES_MAX };
  return [
    ...blobs.filter(({ type }) => !SUMMARY_PARTS.has(type)),
    ...summaryBlobs(file, limits),
  ];
}

/** The file's columns under the table's names of them, with the table's tags. */
function schemaOf(batches: readonly ColumnBatch[], { columns, tags }: TableSchema): TableSchema {
  const own = batches[0]?.schema.columns ?? columns;
  return {
    columns: own.map((column) => columns.find(({ id }) => id === column.id) ?? column),
    tags,
  };
}

function typedColumns({ columns, tags }: TableSchema): readonly number[] {
  return columns.filter(({ name, type }) =>
    name !== "timestamp_ns" && !tags.includes(name) && type !== "string" && type !== "timestamptz"
  ).map(({ id }) => id);
}

/**
 * A table of N rows on local disk, `events` unless another is described, made by the service's own
 * decoder, Parquet writer and commit, for benchmarks that read. Rows are in time order.
 */

import { decodeLogsProtobuf } from "../../ingest/otlp/logs/logs_protobuf.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import type { Catalog } from "../../shared/catalog/catalog.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { type Deriver, openDeriver } from "../../shared/derived/deriver.ts";
import { textColumnsOf } from "../../shared/derived/text_columns.ts";
import { EVENTS_SCHEMA, EVENTS_TABLE } from "../../shared/schema/events.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { DEFAULT_NAMESPACE } from "../../shared/tenant/tenant.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import type { NewDataFile } from "../../shared/iceberg/types.ts";
import { addAttributeColumns } from "../../shared/tables/attribute_columns.ts";
import { countAttributes } from "../../shared/tables/count_attributes.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { fitTo } from "../../shared/tables/fit_schema.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openParquetEncoder } from "../../shared/parquet/parquet_encoder.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import type { ObjectStore } from "../../shared/storage/object_store.ts";
import { type BodyOptions, otlpLogsBody } from "./otlp_bodies.ts";

export interface TableFixture extends AsyncDisposable {
  readonly dir: string;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  /** Local paths of the table's data files. */
  readonly paths: readonly string[];
  readonly rows: number;
}

/** What a table is, and where its rows come from. */
export interface TableSource {
  readonly name: string;
  readonly schema: TableSchema;
  /**
   * `records` rows from number `first` on, in time order, none before those of the batch before.
   */
  batch(first: number, records: number): ColumnBatch;
}

const ROWS_PER_BATCH = 5_000;
const SMALL_FILES_AT_ONCE = 16;
/** Time of the first row. */
export const START_NS = 1_795_132_800_000_000_000n;

/**
 * `rowsPerFile`: files of just so many rows; without it as large as a drain makes them.
 * `noiseBytes`, `keyBytes`: of each row, that do not compress. `rootUri`: where servers find the
 * warehouse; default: its folder.
 */
export function buildTable(
  rows: number,
  { rowsPerFile, noiseBytes = 0, keyBytes = 0, rootUri, attributeColumnsMax = 0 }: {
    readonly rowsPerFile?: number;
    readonly noiseBytes?: number;
    readonly keyBytes?: number;
    readonly rootUri?: string;
    readonly attributeColumnsMax?: number;
  } = {},
): Promise<TableFixture> {
  return buildTableOf({
    name: EVENTS_TABLE,
    schema: EVENTS_SCHEMA,
    batch: (first, records) => eventsOf(first, { records, noiseBytes, keyBytes }),
  }, {
    ...{ rows, attributeColumnsMax },
    ...(rowsPerFile === undefined ? {} : { rowsPerFile }),
    ...(rootUri === undefined ? {} : { rootUri }),
  });
}

export async function buildTableOf(
  { name, schema, batch }: TableSource,
  { rows, rowsPerFile = rows, attributeColumnsMax = 0, deriver = openDeriver({}), rootUri }: {
    readonly rows: number;
    readonly rootUri?: string;
    /** Columns for the attributes that the first rows mostly have, as a drain makes them. */
    readonly attributeColumnsMax?: number;
    readonly rowsPerFile?: number;
    /** Default: all that is derived of a data file. */
    readonly deriver?: Deriver;
  },
): Promise<TableFixture> {
  const ident = { namespace: DEFAULT_NAMESPACE, name };
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-table-" });
  const fs = new DenoFileSystem();
  const clock = new SystemClock();
  const random = new SystemRandom();
  await Deno.mkdir(`${dir}/warehouse`);
  const local = openLocalStore(fs, `${dir}/warehouse`, { random });
  const store = rootUri === undefined ? local : elsewhere(local, rootUri);
  const catalog = await openSqliteCatalog({ path: `${dir}/warehouse/catalog.db` });
  const deps = { store, catalog, clock, random };
  await ensureTable(deps, { ident, schema });
  const counts = countAttributes([batch(0, Math.min(rows, ROWS_PER_BATCH))]);
  await addAttributeColumns(deps, ident, { counts, columnsMax: attributeColumnsMax });
  const table = await ensureTable(deps, { ident, schema });
  using encoder = openParquetEncoder();
  using _deriver = deriver;
  const text = textColumnsOf(schema, undefined);
  const fit = fitTo(table.schema, schema.columns);
  const files: NewDataFile[] = [];
  const written = async (start: number) => {
    const end = Math.min(rows, start + rowsPerFile);
    const writer = new DataFileWriter({ store, random, encoder, deriver }, table, { text });
    for (let first = start; first < end; first += ROWS_PER_BATCH) {
      await writer.add(fit(batch(first, Math.min(ROWS_PER_BATCH, end - first))));
    }
    return await writer.finish();
  };
  const starts = Array.from({ length: Math.ceil(rows / rowsPerFile) }, (_, i) => i * rowsPerFile);
  // Small files are written several at a time: each is synced.
  const atOnce = rowsPerFile <= ROWS_PER_BATCH ? SMALL_FILES_AT_ONCE : 1;
  for (let at = 0; at < starts.length; at += atOnce) {
    const batches = await Promise.all(starts.slice(at, at + atOnce).map(written));
    files.push(...batches.flat());
  }
  await commitAppend(deps, { ident, schema: table.schema, files, consumed: [] });
  return {
    dir,
    store,
    catalog,
    rows,
    paths: files.map((file) => `${dir}/warehouse/${file.key}`),
    async [Symbol.asyncDispose]() {
      await catalog.close();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

/** The store under another address, which the table's metadata has then. */
function elsewhere(store: ObjectStore, rootUri: string): ObjectStore {
  return {
    rootUri,
    get: (key) => store.get(key),
    getRange: (key, offset, length) => store.getRange(key, offset, length),
    head: (key) => store.head(key),
    list: (prefix) => store.list(prefix),
    localPath: (key) => store.localPath(key),
    putNew: (key, bytes) => store.putNew(key, bytes),
    delete: (keys) => store.delete(keys),
  };
}

/**
 * Batches are as far apart as their rows a millisecond each; within a batch rows are a microsecond
 * apart.
 */
function eventsOf(
  first: number,
  rows: Pick<BodyOptions, "records" | "noiseBytes" | "keyBytes">,
): ColumnBatch {
  const startNs = START_NS + BigInt(first) * NS_PER_MS;
  return decodeLogsProtobuf(otlpLogsBody({ ...rows, first, startNs }), { nowNs: startNs });
}

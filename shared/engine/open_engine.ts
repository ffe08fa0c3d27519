/**
 * The one entry point of the engine: builds it from its capabilities. What happens to a statement
 * afterwards is in this folder's README.
 */

import type { CatalogReader } from "../catalog/catalog.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import type { Clock } from "../os/clock.ts";
import { ArrowFiles } from "../parquet/arrow_file.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import { openParquetDecoder } from "../parquet/parquet_decoder.ts";
import { openParquetEncoder } from "../parquet/parquet_encoder.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { WalReader } from "../wal/types.ts";
import { behind } from "./turns/behind.ts";
import { AnswerFiles } from "./fast_paths/answer_files.ts";
import { ENGINE_CACHE_BYTES, type EngineCaches } from "./engine_caches.ts";
import { EdgeTimes } from "./fast_paths/edge_times.ts";
import { readEdgeTimes } from "./fast_paths/read_edge_times.ts";
import { TableAnswers } from "./fast_paths/table_answers.ts";
import { AVERAGE_PROBE } from "./functions/exact_average.ts";
import { FooterCache } from "./files/footer_cache.ts";
import { DamagedFiles, NotedDataFiles } from "./files/damaged_files.ts";
import type { DataFiles, ObjectCacheMeter } from "./files/data_files.ts";
import { localDataFiles } from "./files/near_files.ts";
import { defaultFanIn } from "./order/fan_in.ts";
import { type HotCacheMeter, HotCaches } from "./hot_caches/hot_caches.ts";
import type { HotSource } from "./hot_caches/hot_plan.ts";
import { TableFollowers } from "./follow/table_follower.ts";
import type { FanIn } from "./order/ordered_scan.ts";
import { StatementCache } from "./statement/statement_cache.ts";
import { WIDE_ANSWERS_BYTES_MAX } from "./limits.ts";
import { type DatabaseOptions, openDatabases } from "./duckdb/open_databases.ts";
import { FewRowsDataFiles } from "./files/few_rows/few_rows_files.ts";
import { KeptPages } from "./files/few_rows/kept_pages.ts";
import type { PaysPages } from "./files/few_rows/page_price.ts";
import { CachedDataFiles } from "./files/object_cache/cached_data_files.ts";
import { ObjectCache } from "./files/object_cache/object_cache.ts";
import { LivenessProbe } from "./duckdb/liveness_probe.ts";
import { defaultIndexCacheSizes } from "./pruning/index_cache_sizes.ts";
import type { RowIndexes } from "./pruning/row_index.ts";
import {
  type IndexCacheSizes,
  type IndexMeter,
  SidecarIndexes,
} from "./pruning/sidecar_indexes.ts";
import type { Databases } from "./turns/seat.ts";
import { SqlEngine } from "./sql_engine.ts";
import type { Engine } from "./types.ts";
import { DecodedCache, type DecodedCacheMeter } from "./files/decoded_files/decoded_cache.ts";
import { DecodedDataFiles } from "./files/decoded_files/decoded_data_files.ts";
import { runDecoding, settledSize } from "./files/decoded_files/run_decoding.ts";
import { RemainingRows } from "./plan/remaining_rows.ts";
import { type DeltaEncoder, openDeltaEncoder } from "./plan/delta_encoder.ts";
import { DeltaSweep } from "./plan/delta_sweep.ts";
import type { SpreadingEngine } from "./shards/spread.ts";
import { ReceivedSpace } from "./shards/received_rows.ts";
import type { FirstPolicy } from "./subqueries/subqueries_first.ts";
import { Turns, turnsFor } from "./turns/turns.ts";
import { WalDelta } from "./plan/wal_delta.ts";

/** What the engine is built of: DuckDB's own options (`DatabaseOptions`), and what it reads. */
export interface EngineOptions extends DatabaseOptions {
  /** The warehouse. */
  readonly store: ReadableStore;
  readonly catalog: CatalogReader;
  /** When given, rows of segments that no table holds yet are unioned in. */
  readonly wal?: WalReader;
  /** Whether `last_values` and `distinct_values` are answered; needs `wal`. */
  readonly hotCaches?: boolean;
  /** Is told what they do. */
  readonly hotCacheMeter?: HotCacheMeter;
  /**
   * Whether statements answer without data files that are damaged, and say so. Default false: they
   * fail.
   */
  readonly skipDamagedFiles?: boolean;
  /** Called for each damaged file that is found. */
  readonly onDamagedFile?: () => void;
  /** Called for each part of a segment of `wal` that cannot be read: answers lack its rows. */
  readonly onWalDamage?: () => void;
  /**
   * Bytes of data files kept in `cacheDir` when the warehouse is an object store; default 1 GiB, 0
   * keeps none. What running statements need beyond it is bounded like their spill.
   */
  readonly objectCacheBytesMax?: number;
  /** Is told what that cache does. */
  readonly objectCacheMeter?: ObjectCacheMeter;
  /**
   * What is kept in `cacheDir` of data files' wanted columns, decoded: bytes and files at most.
   * Default, and with 0 for either: nothing.
   */
  readonly scanFileCache?: { readonly bytesMax: number; readonly entriesMax: number };
  /** Is told what that cache does. */
  readonly scanFileCacheMeter?: DecodedCacheMeter;
  /**
   * What is kept of the indexes of data files; by default the smallest sizes of
   * `pruning/index_cache_sizes.ts`.
   */
  readonly indexCaches?: Partial<IndexCacheSizes>;
  /** Is told what they do. */
  readonly indexMeter?: IndexMeter;
  /** Bytes of the caches in memory, and who is told of them. */
  readonly caches?: EngineCaches;
  /** In place of the indexes that lie beside the data files, for tests. */
  readonly indexes?: RowIndexes;
  /**
   * Rows that a newest-first statement with a filter is tried out on before it runs; tables with
   * fewer than 48 times as many are scanned at once. Default 4,096.
   */
  readonly probedRows?: number;
  /** `siftedRowsMin` of `plan/wal_delta.ts`. */
  readonly siftedRowsMin?: number;
  /** When subqueries are run before their statement; default: `FIRST_POLICY`. */
  readonly subqueriesFirst?: FirstPolicy;
  /** Whether rows are read out of their pages; default: where that costs less than a scan. */
  readonly paysPages?: PaysPages;
  /** Default: by the number of cores, `order/fan_in.ts`. */
  readonly fanIn?: Partial<FanIn>;
  /** Lower-cased names of tables that no statement may read. */
  readonly hiddenTables?: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Errors: `unavailable` when the driver cannot be loaded; the file system's when `cacheDir` cannot
 * be written.
 */
export async function openEngine(options: EngineOptions): Promise<Engine & SpreadingEngine> {
  const { files, store, catalog, wal, clock } = options;
  const cores = options.threads ?? navigator.hardwareConcurrency;
  const nowMs = () => clock.monotonicMs();
  const dirs = await cacheDirs(options);
  const turnCounts = turnsFor(cores);
  const databases = await openDatabases(options, {
    turns: turnCounts,
    readableDirs: [...localRoot(store), ...Object.values(dirs)],
  });
  const turns = new Turns(turnCounts);
  const probes = probesOf(databases);
  const averages = await hasExactAverages(probes[0]);
  const encoder = openDeltaEncoder();
  const delta = deltaOf(options, { dir: dirs.wal, encoder });
  const remaining = remainingOf(options, dirs.remaining);
  const sidecars = sidecarIndexesOf(options);
  const { bytes, keep } = cachesOf(options);
  for (const cache of [sidecars.parsed, sidecars.answers]) keep("parsed_index", cache);
  keep("puffin_blob", sidecars.blobs);
  const decoded = decodedCacheOf(options, dirs.decoded);
  const footers = new FooterCache(store, bytes.footers);
  keep("footers", footers);
  const pages = new KeptPages(bytes.pages);
  keep("pages", pages);
  const damaged = new DamagedFiles({
    ...{ nowMs, isSkipping: options.skipDamagedFiles ?? false },
    onDamage: options.onDamagedFile ?? (() => {}),
  });
  const data = new NotedDataFiles(dataFilesOf(options, { dir: dirs.objects, footers }), damaged);
  const reading: Reading = { options, data, databases, turns };
  const edgeTimes = edgeTimesOf(reading);
  const writer = new ArrowFiles();
  const works = [
    ...[writer, edgeTimes, remaining, encoder],
    ...decoded === undefined ? [] : [decoded],
  ];
  const answers = new TableAnswers({
    ...{ store, nowMs, averages },
    sidecars: sidecars.footers.passing,
    bytesMax: bytes.table_answers,
    files: new AnswerFiles(files, dirs.answers),
    fileBytesMax: WIDE_ANSWERS_BYTES_MAX,
  });
  keep("table_answers", answers);
  const caches = statementCachesOf(options);
  return new SqlEngine({
    ...{ databases, turns, turnCounts, probes, subqueriesFirst: options.subqueriesFirst },
    followers: new TableFollowers({
      ...{ catalog, wal, files, dir: dirs.follow, tables: caches.tables },
      onDamage: options.onWalDamage ?? (() => {}),
    }),
    received: new ReceivedSpace({
      ...{ files, writer, dir: dirs.received, bytesMax: options.spillBytesMax },
    }),
    unixMs: () => clock.nowMs(),
    works: delta === undefined ? works : [new DeltaSweep(delta, clock), ...works],
    memoryBytesMax: options.memoryBytesMax,
    spillBytesMax: options.spillBytesMax,
    prepare: {
      ...{ catalog, wal, delta, remaining, edgeTimes, nowMs, damaged },
      ...caches,
      hot: hotSourceOf(options, dirs.wal),
      dataFiles: new FewRowsDataFiles(
        decoded === undefined ? data : new DecodedDataFiles(data, {
          cache: decoded,
          run: (sql, signal) => runDecoding(sql, { databases, turns, signal }),
          settle: (path) => settledSize(files, path),
        }),
        { pages, pays: options.paysPages },
      ),
      indexes: options.indexes ?? sidecars,
      probedRows: options.probedRows,
      answers,
      hidden: new Set(options.hiddenTables),
      fanIn: { ...defaultFanIn(cores), ...options.fanIn },
    },
  });
}

/** Folders of the cache directory, all of them empty. */
interface CacheDirs {
  /** Converted WAL segments. */
  readonly wal: string;
  /** Parts of an object store's data files. */
  readonly objects: string;
  /** Counts of columns with many values. */
  readonly answers: string;
  /** Decoded copies of data files. */
  readonly decoded: string;
  /** What remains of data files from which another engine deleted rows. */
  readonly remaining: string;
  /** New rows of tables that are followed. */
  readonly follow: string;
  /** Rows that other servers sent. */
  readonly received: string;
}

async function cacheDirs({ files, cacheDir }: EngineOptions): Promise<CacheDirs> {
  await emptyDir(files, cacheDir);
  const dirs = {
    wal: `${cacheDir}/wal`,
    objects: `${cacheDir}/objects`,
    answers: `${cacheDir}/answers`,
    decoded: `${cacheDir}/decoded`,
    remaining: `${cacheDir}/remaining`,
    follow: `${cacheDir}/follow`,
    received: `${cacheDir}/received`,
  };
  for (const dir of Object.values(dirs)) await files.mkdir(dir);
  return dirs;
}

/** What is read behind statements is read of these. */
interface Reading {
  readonly options: EngineOptions;
  readonly data: DataFiles;
  readonly databases: Databases;
  readonly turns: Turns;
}

function deltaOf(
  { wal, files, onWalDamage, siftedRowsMin }: EngineOptions,
  { dir, encoder }: { readonly dir: string; readonly encoder: DeltaEncoder },
): WalDelta | undefined {
  if (wal === undefined) return undefined;
  const damage = onWalDamage === undefined ? {} : { onDamage: onWalDamage };
  return new WalDelta({ wal, files, dir, encoder, siftedRowsMin, ...damage });
}

function remainingOf({ store, files }: EngineOptions, dir: string): RemainingRows {
  return new RemainingRows({
    ...{ store, files, dir },
    decoder: openParquetDecoder(),
    encoder: openParquetEncoder(),
  });
}

function sidecarIndexesOf({ indexCaches, indexMeter, clock }: EngineOptions): SidecarIndexes {
  const meter = indexMeter === undefined ? {} : { meter: indexMeter };
  const sizes = { ...defaultIndexCacheSizes(Infinity), ...indexCaches };
  return new SidecarIndexes(sizes, { nowMs: () => clock.monotonicMs(), ...meter });
}

/** Bytes of the caches in memory, and who is given each of them. */
function cachesOf({ caches }: EngineOptions) {
  const bytes = { ...ENGINE_CACHE_BYTES, ...caches?.bytes };
  return { bytes, keep: caches?.keep ?? (() => {}) };
}

function statementCachesOf(options: EngineOptions) {
  const { bytes, keep } = cachesOf(options);
  const tables = new IcebergReader(options.store, { cacheBytesMax: bytes.table_metadata });
  keep("table_metadata", tables);
  const statements = new StatementCache(bytes.statements);
  keep("statements", statements);
  return { tables, statements };
}

function edgeTimesOf({ options, data, databases, turns }: Reading): EdgeTimes {
  const { bytes, keep } = cachesOf(options);
  const { clock } = options;
  const edgeTimes = new EdgeTimes({
    bytesMax: bytes.edge_times,
    read: (window, signal) =>
      readEdgeTimes(window, {
        data,
        behind: (work, signal) => behind(work, { databases, turns, signal }),
      }, signal),
    nowMs: () => clock.monotonicMs(),
  });
  keep("edge_times", edgeTimes);
  return edgeTimes;
}

/** Whether this DuckDB's averages are those that summaries give. */
async function hasExactAverages(probe: LivenessProbe): Promise<boolean> {
  const answer = await probe.ask((connection) => connection.texts(AVERAGE_PROBE.sql));
  return answer?.[0]?.[0] === AVERAGE_PROBE.expected;
}

function probesOf({ light, dear }: Databases): [LivenessProbe, ...LivenessProbe[]] {
  return [new LivenessProbe(light), ...(dear === light ? [] : [new LivenessProbe(dear)])];
}

const OBJECT_CACHE_BYTES = 1024 ** 3;

function dataFilesOf(
  options: EngineOptions,
  { dir, footers }: { readonly dir: string; readonly footers: FooterCache },
): DataFiles {
  const { store, files, objectCacheBytesMax: bytesMax = OBJECT_CACHE_BYTES } = options;
  if (localRoot(store).length > 0) {
    return localDataFiles(store, { footers, files, nowMs: () => options.clock.monotonicMs() });
  }
  const bytesInUseMax = bytesMax + options.spillBytesMax;
  const meter = options.objectCacheMeter;
  const cache = new ObjectCache({
    store,
    files,
    dir,
    bytesMax,
    bytesInUseMax,
    ...(meter === undefined ? {} : { meter }),
  });
  return new CachedDataFiles(store, cache, meter);
}

function decodedCacheOf(options: EngineOptions, dir: string): DecodedCache | undefined {
  const { scanFileCache, scanFileCacheMeter: meter, files, clock } = options;
  const { bytesMax, entriesMax } = scanFileCache ?? { bytesMax: 0, entriesMax: 0 };
  if (bytesMax <= 0 || entriesMax <= 0) return undefined;
  return new DecodedCache({
    ...{ bytesMax, entriesMax, dir },
    remove: async (path) => {
      if (await files.exists(path)) await files.remove(path);
    },
    nowMs: () => clock.monotonicMs(),
    ...(meter === undefined ? {} : { meter }),
  });
}

function hotSourceOf(options: EngineOptions, dir: string): HotSource | undefined {
  const { wal, files, hotCaches, hotCacheMeter: meter } = options;
  if (wal === undefined || hotCaches !== true) return undefined;
  const { bytes, keep } = cachesOf(options);
  const bytesMax = bytes.hot_caches;
  const caches = new HotCaches({ wal, bytesMax, ...(meter === undefined ? {} : { meter }) });
  keep("hot_caches", caches);
  return { caches, files, dir };
}

async function emptyDir(files: FileSystem, path: string): Promise<void> {
  if (await files.exists(path)) await files.removeTree(path);
  await files.mkdir(path);
}

/** The folder that statements may read, when the warehouse is one. */
function localRoot(store: ReadableStore): string[] {
  return store.rootUri.startsWith("file://") ? [store.rootUri.slice("file://".length)] : [];
}

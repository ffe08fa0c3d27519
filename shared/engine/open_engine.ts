/**
 * The one door of the engine: builds it from its capabilities. What happens to a statement
 * afterwards is in this folder's README.
 */

import type { CatalogReader } from "../catalog/catalog.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import type { Clock } from "../os/clock.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { WalReader } from "../wal/types.ts";
import { behind } from "./turns/behind.ts";
import { AnswerFiles } from "./fast_paths/answer_files.ts";
import { EdgeTimes } from "./fast_paths/edge_times.ts";
import { readEdgeTimes } from "./fast_paths/read_edge_times.ts";
import { TableAnswers } from "./fast_paths/table_answers.ts";
import { AVERAGE_PROBE } from "./functions/exact_average.ts";
import { type DataFiles, localDataFiles, type ObjectCacheMeter } from "./files/data_files.ts";
import { defaultFanIn } from "./order/fan_in.ts";
import { type HotCacheMeter, HotCaches } from "./hot_caches/hot_caches.ts";
import { HeldRows, type HeldRowsMeter } from "./held_rows/held_rows.ts";
import { heldTables } from "./held_rows/load_held.ts";
import type { FanIn } from "./order/ordered_scan.ts";
import { StatementCache } from "./statement/statement_cache.ts";
import {
  DIVIDED_POOL_BYTES_MIN,
  EDGE_TIMES_BYTES_MAX,
  HELD_ROWS_BYTES_MAX,
  HELD_ROWS_SHARE_DIVISOR,
  LIGHT_SHARE_DIVISOR,
  TABLE_ANSWERS_BYTES_MAX,
  WIDE_ANSWERS_BYTES_MAX,
} from "./limits.ts";
import { type DatabaseOptions, openDatabases } from "./duckdb/open_databases.ts";
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
import { DeltaSweep } from "./plan/delta_sweep.ts";
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
   * Bytes of data files' rows that are held in memory for ordered scans, about, out of the memory
   * pool, and at most an eighth of that of cheap statements; default 64 MiB, of a pool below 1 GiB
   * none. 0 holds none.
   */
  readonly heldRowsBytesMax?: number;
  /** Is told what becomes of them. */
  readonly heldRowsMeter?: HeldRowsMeter;
  /**
   * What is kept of the indexes of data files; by default the smallest sizes of
   * `pruning/index_cache_sizes.ts`.
   */
  readonly indexCaches?: Partial<IndexCacheSizes>;
  /** Is told what they do. */
  readonly indexMeter?: IndexMeter;
  /** In place of the indexes that lie beside the data files, for tests. */
  readonly indexes?: RowIndexes;
  /**
   * Rows that a newest-first statement with a filter is tried out on before it runs; tables with
   * fewer than 48 times as many are scanned at once. Default 4,096.
   */
  readonly probedRows?: number;
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
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { files, store, catalog, wal, clock } = options;
  const cores = options.threads ?? navigator.hardwareConcurrency;
  await emptyDir(files, options.cacheDir);
  const deltaDir = `${options.cacheDir}/wal`;
  const objectDir = `${options.cacheDir}/objects`;
  const answerDir = `${options.cacheDir}/answers`;
  const decodedDir = `${options.cacheDir}/decoded`;
  await files.mkdir(deltaDir);
  await files.mkdir(objectDir);
  await files.mkdir(answerDir);
  await files.mkdir(decodedDir);
  const counts = turnsFor(cores);
  const databases = await openDatabases(options, {
    turns: counts,
    readableDirs: [...localRoot(store), deltaDir, objectDir, answerDir, decodedDir],
  });
  const delta = wal === undefined ? undefined : new WalDelta({
    wal,
    files,
    dir: deltaDir,
    ...(options.onWalDamage === undefined ? {} : { onDamage: options.onWalDamage }),
  });
  const probes = probesOf(databases);
  const [average] = await probes[0].ask((connection) => connection.texts(AVERAGE_PROBE.sql));
  const sidecarIndexes = new SidecarIndexes(
    { ...defaultIndexCacheSizes(Infinity), ...options.indexCaches },
    {
      nowMs: () => clock.monotonicMs(),
      ...(options.indexMeter === undefined ? {} : { meter: options.indexMeter }),
    },
  );
  const turns = new Turns(counts);
  const decoded = decodedCacheOf(options, decodedDir);
  const data = dataFilesOf(options, objectDir);
  const edgeTimes = new EdgeTimes({
    bytesMax: EDGE_TIMES_BYTES_MAX,
    read: (window, signal) =>
      readEdgeTimes(window, {
        data,
        behind: (work, signal) => behind(work, { databases, turns, signal }),
      }, signal),
    nowMs: () => clock.monotonicMs(),
  });
  const held = new HeldRows({
    bytesMax: heldRowsBytes(options, databases),
    tables: heldTables({
      data,
      behind: (work, signal) => behind(work, { databases, turns, turn: "light", signal }),
    }),
    nowMs: () => clock.monotonicMs(),
    ...(options.heldRowsMeter === undefined ? {} : { meter: options.heldRowsMeter }),
  });
  databases.light.onRenewed = () => held.forget();
  return new SqlEngine({
    databases,
    works: [
      ...(delta === undefined ? [] : [new DeltaSweep(delta, clock)]),
      ...(decoded === undefined ? [] : [decoded]),
      edgeTimes,
      held,
    ],
    turns,
    turnCounts: counts,
    probes,
    memoryBytesMax: options.memoryBytesMax,
    spillBytesMax: options.spillBytesMax,
    prepare: {
      catalog,
      tables: new IcebergReader(store),
      wal,
      delta,
      hot: wal === undefined || options.hotCaches !== true
        ? undefined
        : { caches: hotCachesOf(wal, options.hotCacheMeter), files, dir: deltaDir },
      dataFiles: decoded === undefined ? data : new DecodedDataFiles(data, {
        cache: decoded,
        run: (sql, signal) => runDecoding(sql, { databases, turns, signal }),
        settle: (path) => settledSize(files, path),
      }),
      indexes: options.indexes ?? sidecarIndexes,
      probedRows: options.probedRows,
      statements: new StatementCache(),
      answers: new TableAnswers({
        store,
        sidecars: sidecarIndexes.footers.passing,
        bytesMax: TABLE_ANSWERS_BYTES_MAX,
        files: new AnswerFiles(files, answerDir),
        fileBytesMax: WIDE_ANSWERS_BYTES_MAX,
        nowMs: () => clock.monotonicMs(),
        averages: average?.[0] === AVERAGE_PROBE.expected,
      }),
      edgeTimes,
      held,
      hidden: new Set(options.hiddenTables),
      fanIn: {
        ...defaultFanIn(cores),
        ...options.fanIn,
      },
      nowMs: () => clock.monotonicMs(),
    },
  });
}

function probesOf({ light, dear }: Databases): [LivenessProbe, ...LivenessProbe[]] {
  return [new LivenessProbe(light), ...(dear === light ? [] : [new LivenessProbe(dear)])];
}

/** They are the pool's for as long as they are there, so they are a small part of it. */
function heldRowsBytes(options: EngineOptions, { light, dear }: Databases): number {
  const { memoryBytesMax } = options;
  // A small pool is all for statements: what they drive out of it would be spilled, and read again
  // for the next.
  const byDefault = memoryBytesMax < DIVIDED_POOL_BYTES_MIN ? 0 : HELD_ROWS_BYTES_MAX;
  const { heldRowsBytesMax = byDefault } = options;
  const pool = light === dear ? memoryBytesMax : memoryBytesMax / LIGHT_SHARE_DIVISOR;
  return Math.min(heldRowsBytesMax, Math.floor(pool / HELD_ROWS_SHARE_DIVISOR));
}

const OBJECT_CACHE_BYTES = 1024 ** 3;

function dataFilesOf(options: EngineOptions, dir: string): DataFiles {
  const { store, files, objectCacheBytesMax: bytesMax = OBJECT_CACHE_BYTES } = options;
  if (localRoot(store).length > 0) return localDataFiles(store);
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

function hotCachesOf(wal: WalReader, meter: HotCacheMeter | undefined): HotCaches {
  return new HotCaches({ wal, ...(meter === undefined ? {} : { meter }) });
}

async function emptyDir(files: FileSystem, path: string): Promise<void> {
  if (await files.exists(path)) await files.removeTree(path);
  await files.mkdir(path);
}

/** The folder that statements may read, when the warehouse is one. */
function localRoot(store: ReadableStore): string[] {
  return store.rootUri.startsWith("file://") ? [store.rootUri.slice("file://".length)] : [];
}

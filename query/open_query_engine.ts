/** Opens the engine of the query server from its settings, and measures what it holds. */

import { getLogger } from "@logtape/logtape";
import { join } from "node:path";
import { messageOf, OperatingError, UsageError } from "../shared/base/errors.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { defaultObjectCacheBytes } from "../shared/engine/files/object_cache/object_cache_size.ts";
import type { EngineProcesses } from "../shared/engine/duckdb/open_databases.ts";
import { openEngine } from "../shared/engine/open_engine.ts";
import { TURN_KINDS } from "../shared/engine/turns/turns.ts";
import type { Engine } from "../shared/engine/types.ts";
import type { MemoryKeeper } from "../shared/memory/memory_keeper.ts";
import type { Clock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { environment } from "../shared/os/environment.ts";
import type { FileSystem, ReadableFiles } from "../shared/os/file_system.ts";
import { containerLimitBytes } from "../shared/os/memory_limit.ts";
import { NearFileSystem } from "../shared/os/near_file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import { QUERY_AUDIT_TABLE } from "../shared/schema/query_audit.ts";
import { openStoreReader } from "../shared/storage/open_store.ts";
import { isS3Url } from "../shared/storage/s3_settings.ts";
import { tellStore } from "../shared/storage/tell_store.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import type { QuerySettings } from "./flags.ts";
import type { QueryMemoryPlan, QueryPart } from "./memory/memory_parts.ts";
import { gaugeMemoryPool } from "./memory_pool.ts";
import { processMeter } from "./metrics/engine_metrics.ts";
import { hotCacheMeter } from "./metrics/hot_cache_metrics.ts";
import { indexMeter } from "./metrics/index_metrics.ts";
import type { QueryMetrics } from "./metrics/metrics.ts";
import { objectCacheMeter } from "./metrics/object_cache_metrics.ts";
import { scanFileCacheMeter } from "./metrics/scan_file_cache_metrics.ts";
import { queryPaths } from "./query_paths.ts";

export interface EngineParts {
  /** Closes what the engine uses, after the engine. */
  readonly owner: AsyncDisposableStack;
  readonly clock: Clock;
  readonly catalog: CatalogReader;
  readonly metrics: QueryMetrics;
  readonly plan: QueryMemoryPlan;
  readonly keeper: MemoryKeeper<QueryPart>;
  readonly asDriver: EngineProcesses["asDriver"];
}

/** Errors: `OperatingError`s that name the option to change. */
export async function openQueryEngine(
  settings: QuerySettings,
  { owner, clock, catalog, metrics, plan, keeper, asDriver }: EngineParts,
): Promise<Engine> {
  const paths = queryPaths(settings);
  // Only what is on this machine's disks is read through it where the warehouse is elsewhere.
  const files = isS3Url(paths.warehouse) ? new NearFileSystem() : new DenoFileSystem();
  if (!isS3Url(paths.warehouse)) await requireReadable(files, paths.warehouse, "--warehouse");
  if (paths.wal !== undefined) {
    await requireReadable(files, paths.wal, "--query-wal-buffer-dir");
  }
  const random = new SystemRandom();
  if (settings.queryHotCaches && paths.wal === undefined) {
    throw new UsageError(
      "Cannot keep hot caches with --query-hot-caches alone: they are over the WAL, give " +
        "--query-wal-buffer-dir too",
    );
  }
  const cacheDir = await claimCache(files, owner, paths.cache);
  const store = openStoreReader(paths.warehouse, { files, clock, random, env: environment });
  if (isS3Url(paths.warehouse)) void tellStore(store, getLogger(["svc", "query"]));
  return await openEngine({
    store,
    catalog,
    ...(paths.wal === undefined ? {} : { wal: openWalReader(new NearFileSystem(), paths.wal) }),
    hotCaches: settings.queryHotCaches,
    hotCacheMeter: hotCacheMeter(metrics),
    onWalDamage: () => metrics.walDamages.add(1, {}),
    skipDamagedFiles: settings.skipDamagedFiles,
    onDamagedFile: () => metrics.damagedFiles.add(1, {}),
    files,
    cacheDir,
    memoryBytesMax: plan.bytes.pool,
    spillBytesMax: settings.spillBytesMax,
    objectCacheBytesMax: objectCacheBytes(settings),
    objectCacheMeter: objectCacheMeter(metrics),
    scanFileCache: scanFileCache(settings),
    scanFileCacheMeter: scanFileCacheMeter(metrics),
    indexCaches: {
      parsedBytesMax: plan.bytes.parsed_index,
      blobBytesMax: plan.bytes.puffin_blob,
      blobEntriesMax: settings.queryPuffinBlobCacheMaxEntries,
    },
    caches: { bytes: plan.bytes, keep: (part, cache) => keeper.keep(part, cache) },
    indexMeter: indexMeter(metrics),
    fanIn: {
      ...(settings.orderedMergeMaxFanin === undefined
        ? {}
        : { partitionMax: settings.orderedMergeMaxFanin }),
      ...(settings.orderedMergeGlobalFanin === undefined
        ? {}
        : { globalMax: settings.orderedMergeGlobalFanin }),
    },
    dearNiceness: settings.dearNiceness,
    processes: {
      meter: processMeter(metrics),
      headroomBytes: plan.headroomBytes,
      ...(asDriver === undefined ? {} : { asDriver }),
    },
    threads: settings.threads ?? Math.min(navigator.hardwareConcurrency, plan.threadsMax),
    // The table has rows of every tenant, and a claim lets each caller read one tenant's namespace.
    hiddenTables: settings.oidcTenantClaim === undefined ? [] : [QUERY_AUDIT_TABLE],
    clock,
    random,
  });
}

/** What the engine's pool and caches may hold, and how many statements wait in it. */
export function gaugeEngine(
  settings: QuerySettings,
  { engine, metrics, plan }: {
    readonly engine: Engine;
    readonly metrics: QueryMetrics;
    readonly plan: QueryMemoryPlan;
  },
): void {
  gaugeMemoryPool(metrics, engine);
  for (const line of TURN_KINDS) {
    metrics.engineWaiting.readAtScrape(() => engine.waiting()[line], { line });
  }
  metrics.objectCacheLimitBytes.set(objectCacheBytes(settings), {});
  metrics.scanFileCacheLimitBytes.set(scanFileCache(settings).bytesMax, {});
  metrics.indexCacheLimitBytes.set(plan.bytes.parsed_index, { cache: "parsed_index" });
  metrics.indexCacheLimitBytes.set(plan.bytes.puffin_blob, { cache: "puffin_blob" });
}

/** Bytes that are kept of an object store's data files. */
function objectCacheBytes({ queryObjectCacheMaxBytes }: QuerySettings): number {
  return queryObjectCacheMaxBytes ?? defaultObjectCacheBytes(containerLimitBytes());
}

/** What is kept of data files' decoded columns: nothing unless both options say how much. */
function scanFileCache(
  { queryScanFileCacheMaxBytes: bytesMax, queryScanFileCacheMaxEntries: entriesMax }: QuerySettings,
) {
  return bytesMax > 0 && entriesMax > 0 ? { bytesMax, entriesMax } : { bytesMax: 0, entriesMax: 0 };
}

/** Tells of a cache that one of its options leaves off. */
export function warnOfScanFileCache(settings: QuerySettings): void {
  const { queryScanFileCacheMaxBytes: bytes, queryScanFileCacheMaxEntries: entries } = settings;
  if ((bytes > 0) === (entries > 0)) return;
  getLogger(["svc", "query"]).warning(
    "the scan file cache is off: it needs both --query-scan-file-cache-max-bytes and " +
      "--query-scan-file-cache-max-entries, and one of them is 0",
  );
}

/**
 * The engine's folder below `path`. The engine empties it, so a lock beside it keeps a second
 * server from emptying it under the first. `owner` releases the lock.
 */
async function claimCache(
  files: FileSystem,
  owner: AsyncDisposableStack,
  path: string,
): Promise<string> {
  let lock: Disposable | undefined;
  try {
    await files.mkdir(path);
    lock = await files.tryLock(join(path, "lock"));
  } catch (cause) {
    throw new OperatingError(
      "permission_denied",
      `Cannot write the cache folder ${path}: ${messageOf(cause)}; ` +
        "let this process write there, or choose another with --cache-dir",
      { cause },
    );
  }
  if (lock === undefined) {
    throw new OperatingError(
      "unavailable",
      `Cannot use the cache folder ${path}: another query server has it; ` +
        "stop that one, or choose another with --cache-dir",
    );
  }
  owner.use(lock);
  return join(path, "engine");
}

/** A folder that does not exist yet is an empty one: its writer makes it with the first rows. */
async function requireReadable(files: ReadableFiles, path: string, option: string): Promise<void> {
  try {
    if (await files.exists(path)) await files.readDir(path);
  } catch (cause) {
    throw new OperatingError(
      "permission_denied",
      `Cannot read ${path}: it must be a folder that this process may read; ` +
        `grant that, or choose another with ${option}`,
      { cause },
    );
  }
}

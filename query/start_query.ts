/** Builds the query server from its settings and runs it: engine, readiness, two listeners. */

import { getLogger } from "@logtape/logtape";
import { join } from "node:path";
import type { AuthMode } from "../shared/auth/authenticator.ts";
import { messageOf, OperatingError, UsageError } from "../shared/base/errors.ts";
import { LateResource } from "../shared/base/late_resource.ts";
import { VERSION } from "../shared/base/version.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { openCatalog, openCatalogReader } from "../shared/catalog/open_catalog.ts";
import {
  openDeleteLedger,
  openIndexCatalog,
  openMaintenanceCatalog,
} from "../shared/catalog/open_catalog_parts.ts";
import { defaultObjectCacheBytes } from "../shared/engine/files/object_cache/object_cache_size.ts";
import type { EngineProcesses } from "../shared/engine/duckdb/open_databases.ts";
import { openEngine } from "../shared/engine/open_engine.ts";
import { TURN_KINDS } from "../shared/engine/turns/turns.ts";
import type { Engine } from "../shared/engine/types.ts";
import { QUERY_AUDIT_TABLE } from "../shared/schema/query_audit.ts";
import { ByteBudget } from "../shared/base/byte_budget.ts";
import { type ListenAddress, parseListenAddress } from "../shared/http/listen_address.ts";
import { connectionBounds } from "../shared/http/connection_options.ts";
import { readTlsFiles } from "../shared/http/tls_files.ts";
import { type Clock, SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { environment } from "../shared/os/environment.ts";
import type { FileSystem, ReadableFiles } from "../shared/os/file_system.ts";
import type { MemoryKeeper } from "../shared/memory/memory_keeper.ts";
import { containerLimitBytes } from "../shared/os/memory_limit.ts";
import { NearFileSystem } from "../shared/os/near_file_system.ts";
import { type Random, SystemRandom } from "../shared/os/random.ts";
import type { ReadableStore } from "../shared/storage/object_store.ts";
import { openStore, openStoreReader } from "../shared/storage/open_store.ts";
import { isS3Url, type S3Access, s3AccessOf } from "../shared/storage/s3_settings.ts";
import { tellStore } from "../shared/storage/tell_store.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import { openAccess } from "./access_gate.ts";
import { openAudit } from "./audit/open_audit.ts";
import { Admission } from "./admission/admission.ts";
import { openDistribution } from "./distributed/open_distribution.ts";
import { DeleteTasks } from "./delete_tasks/delete_tasks.ts";
import type { QuerySettings } from "./flags.ts";
import { RestCatalog } from "./iceberg_rest/rest_catalog.ts";
import { VendedCredentials } from "./iceberg_rest/vended_credentials.ts";
import { RestCommits } from "./iceberg_rest/rest_commits.ts";
import { LongStatements } from "./sql/long_reads.ts";
import { openJobs } from "./jobs/open_jobs.ts";
import { ManagedIndexes } from "./indexes/managed_indexes.ts";
import { indexMeter } from "./metrics/index_metrics.ts";
import type { QueryMemoryPlan, QueryPart } from "./memory/memory_parts.ts";
import { openMemory } from "./memory/open_memory.ts";
import { gaugeMemoryPool } from "./memory_pool.ts";
import { createQueryMetrics, type QueryMetrics } from "./metrics/metrics.ts";
import { processMeter } from "./metrics/engine_metrics.ts";
import { hotCacheMeter } from "./metrics/hot_cache_metrics.ts";
import { objectCacheMeter } from "./metrics/object_cache_metrics.ts";
import { scanFileCacheMeter } from "./metrics/scan_file_cache_metrics.ts";
import { startPg } from "./pg/start_pg.ts";
import { queryPaths } from "./query_paths.ts";
import type { QueryObserver } from "./query_record.ts";
import { Readiness } from "./readiness.ts";
import type { CallerGate } from "./query_caller.ts";
import { queryApp } from "./routes.ts";
import { startListeners } from "./start_listeners.ts";
import { TailDesk } from "./tail/tail_desk.ts";
import { TableFacts } from "./tables/table_facts.ts";
import { NameCache } from "./tracing/name_lists.ts";
import { openStatus } from "./status/open_status.ts";
import { openPage } from "./ui/open_page.ts";

/** What tests put instead of the real parts. */
export interface QueryDeps {
  readonly engine?: Engine;
  /** Replaces what runs DuckDB. */
  readonly asDriver?: EngineProcesses["asDriver"];
  readonly clock?: Clock;
  /** Replaces the access check that the settings describe. */
  readonly callers?: CallerGate;
  /** Is told of statements instead of the audit table. */
  readonly observer?: QueryObserver;
}

/** A server that listens. Disposing it stops it. */
export interface QueryServer extends AsyncDisposable {
  readonly address: ListenAddress;
  readonly metricsAddress: ListenAddress;
  /** Where PostgreSQL's protocol is spoken; absent: nowhere. */
  readonly pgAddress?: ListenAddress;
  /** Stops accepting, lets queries in flight end, closes the engine. Idempotent. */
  stop(): Promise<void>;
}

/** Starts the server. Errors: `OperatingError`s that name the option to change. */
export async function startQuery(
  settings: QuerySettings,
  deps: QueryDeps = {},
): Promise<QueryServer> {
  const clock = deps.clock ?? new SystemClock();
  const bind = parseListenAddress(settings.bind, "--bind");
  const metricsBind = parseListenAddress(settings.metricsBind, "--metrics-bind");
  const metrics = createQueryMetrics({ version: VERSION, role: "query" });
  const bounds = connectionBounds(settings, { listeners: 1, role: "query" });

  // Parts are closed in the reverse order: the listeners first, then what they use.
  await using starting = new AsyncDisposableStack();
  const tls = await readTlsFiles(settings, new DenoFileSystem());
  const access = starting.use(openAccess(settings, { clock, metrics }));
  const isOpen = access.mode === "open";
  const files = new DenoFileSystem();
  const { mayVisit, ...page } = await openPage(settings, { auth: access.mode, files });
  const memory = starting.use(openMemory(settings, { clock, metrics }));
  const { plan, keeper } = memory;
  const audit = starting.use(openAudit(settings, { clock, metrics, bytesMax: plan.bytes.audit }));
  // The observer outlives the engine: a statement that is stopped with the engine ends, too.
  const observer = deps.observer ?? audit;
  const catalog = starting.use(await openCatalogReader(queryPaths(settings).catalog));
  const engine = starting.use(
    deps.engine ?? await openQueryEngine(settings, {
      owner: starting,
      ...{ clock, catalog, metrics, plan, keeper },
      asDriver: deps.asDriver,
    }),
  );
  gaugeEngine(settings, { engine, metrics, plan });
  warnOfScanFileCache(settings);
  const admission = admissionOf(settings, { plan, keeper, clock, metrics });
  const longStatements = openLongStatements(settings, { starting, files, clock });
  const { distribution, desk } = await openDistribution(settings, {
    ...{ starting, engine, admission, metrics, clock, files, auth: access.mode },
  });
  const calls = { engine, admission, metrics, clock, observer, longStatements, distribution };
  const jobs = starting.use(openJobs(settings, { calls, admission, metrics }));
  const readiness = starting.use(readinessOf(engine, clock));
  const answers = new ByteBudget(plan.bytes.answers, { isShared: hasTenants(settings) });
  const traceNames = new NameCache(plan.bytes.trace_names);
  keeper.keep("trace_names", traceNames);
  memory.watch(engine, { answersBytes: () => answers.used, auditBytes: () => audit.bytes });
  const [tails, callers] = [new TailDesk(), deps.callers ?? access];
  const app = queryApp({
    ...calls,
    desk,
    jobs: jobs.desk,
    readiness,
    callers,
    ...managedParts(settings, { starting, files, catalog, engine, clock }),
    rowsCeiling: settings.maxRows,
    ...page,
    status: starting.use(openStatus(settings, { clock, metrics })),
    stallMsMax: 1000 * settings.streamStallSecs,
    ...{ answers, traceNames, tails },
  });
  const { server, metricsServer } = startListeners(settings, {
    ...{ starting, bind, metricsBind, bounds, tls, metrics },
    handler: (request, connection) => app.fetch(request, connection),
    ...{ isOpen, mayVisit },
  });
  const pg = startPg(settings, {
    ...{ starting, calls, gate: callers, answers, tls, metrics, bounds, isOpen },
  });
  warnOfAccess(settings, access.mode);

  const resources = starting.move();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    readiness.end();
    tails.end();
    jobs.desk.endWaits(); // The listener lets requests in flight end.
    void server.stop(); // While PostgreSQL's sessions end: all in flight have the same time.
    return stopping ??= resources.disposeAsync();
  };
  const [address, metricsAddress] = [server.address, metricsServer.address];
  return { address, metricsAddress, ...pg, stop, [Symbol.asyncDispose]: stop };
}

/** Whether callers are of tenants, who are strangers to each other. */
function hasTenants({ oidcTenantClaim }: QuerySettings): boolean {
  return oidcTenantClaim !== undefined;
}

function readinessOf(engine: Engine, clock: Clock): Readiness {
  return new Readiness({ ping: () => engine.ping(), problem: () => engine.problem, clock });
}

function admissionOf(
  settings: QuerySettings,
  { plan, keeper, clock, metrics }: Pick<EngineParts, "plan" | "keeper" | "clock" | "metrics">,
): Admission {
  return new Admission({
    budgetBytes: plan.bytes.pool,
    isFull: () => keeper.isFull,
    shareDivisor: settings.admissionMaxShareDivisor,
    waitMs: settings.admissionWaitMs,
    dearWaitMs: settings.dearWaitMs,
    ...{ clock, metrics },
  });
}

/** What the engine's pool and caches may hold, and how many statements wait in it. */
function gaugeEngine(
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

/** The catalog is opened with the first long statement. */
function openLongStatements(
  settings: QuerySettings,
  { starting, files, clock }: {
    readonly starting: AsyncDisposableStack;
    readonly files: FileSystem;
    readonly clock: Clock;
  },
): LongStatements {
  const place = queryPaths(settings).catalog;
  const late = starting.use(new LateResource(() => openMaintenanceCatalog(place, { files })));
  const open = async () => (await late.get()).longReads;
  return new LongStatements({ open, clock, random: new SystemRandom() });
}

/**
 * What tells of tables, changes indexes and takes delete tasks in. Databases that are written are
 * opened when first asked.
 */
function managedParts(
  settings: QuerySettings,
  { starting, files, catalog, engine, clock }: {
    /** Closes the databases. */
    readonly starting: AsyncDisposableStack;
    readonly files: FileSystem;
    readonly catalog: CatalogReader;
    readonly engine: Engine;
    readonly clock: Clock;
  },
) {
  const place = queryPaths(settings).catalog;
  const writer = starting.use(new LateResource(() => openIndexCatalog(place, { files })));
  const ledger = starting.use(new LateResource(() => openDeleteLedger(place, { files })));
  const random = new SystemRandom();
  const { warehouse } = queryPaths(settings);
  const store = openStoreReader(warehouse, { files, clock, random, env: environment });
  return {
    tables: new TableFacts({ catalog, store }),
    indexes: new ManagedIndexes({ catalog, writer: () => writer.get(), clock, random }),
    deleteTasks: new DeleteTasks({ engine, catalog, ledger: () => ledger.get(), random }),
    icebergCatalog: openRestCatalog(settings, { store, catalog, clock }),
    icebergCommits: openRestCommits(settings, { starting, files, clock, random }),
  };
}

function openRestCatalog(
  settings: QuerySettings,
  { store, catalog, clock }: {
    readonly store: ReadableStore;
    readonly catalog: CatalogReader;
    readonly clock: Clock;
  },
): RestCatalog {
  const isInS3 = isS3Url(queryPaths(settings).warehouse);
  const { icebergStsUrl: stsUrl, icebergStsRole: roleArn, icebergWrites: writes } = settings;
  if ((stsUrl === undefined) !== (roleArn === undefined) || !isInS3 && stsUrl !== undefined) {
    throw new UsageError(
      "Cannot give engines credentials: --iceberg-sts-url and --iceberg-sts-role need each other, " +
        "and a warehouse in S3; give all three or neither of these two",
    );
  }
  if (stsUrl !== undefined && !/^https?:$/.test(URL.parse(stsUrl)?.protocol ?? "")) {
    throw new UsageError(
      `Cannot use --iceberg-sts-url ${JSON.stringify(stsUrl)}: give https://host/`,
    );
  }
  if (!isInS3) return new RestCatalog({ catalog, store, properties: {} });
  const access = s3AccessOf(environment);
  const vended = stsUrl === undefined || roleArn === undefined
    ? undefined
    : new VendedCredentials({ stsUrl, roleArn, access, writes, clock });
  return new RestCatalog({ catalog, store, properties: s3Properties(access), vended });
}

/** The catalog is opened for writing with the first commit. */
function openRestCommits(
  settings: QuerySettings,
  { starting, files, clock, random }: {
    readonly starting: AsyncDisposableStack;
    readonly files: FileSystem;
    readonly clock: Clock;
    readonly random: Random;
  },
): RestCommits | undefined {
  if (!settings.icebergWrites) return undefined;
  const { catalog, warehouse } = queryPaths(settings);
  const { store } = openStore(warehouse, { files, clock, random, env: environment });
  const late = starting.use(new LateResource(() => openCatalog(catalog, { files })));
  return starting.use(new RestCommits({ store, clock, random, catalog: () => late.get() }));
}

/** Where the bucket is, as Iceberg's clients are told; credentials are their own. */
function s3Properties({ endpoint, region, pathStyle }: S3Access): Record<string, string> {
  return {
    "s3.endpoint": endpoint,
    "s3.region": region,
    "client.region": region,
    "s3.path-style-access": String(pathStyle),
  };
}

function warnOfAccess(settings: QuerySettings, mode: AuthMode): void {
  const log = getLogger(["svc", "query"]);
  if (mode === "open") {
    log.warning(
      "no authentication is configured: whoever reaches this server can read every table",
    );
  }
  if (settings.allowedTenants.length > 0 && settings.oidcTenantClaim === undefined) {
    log.warning(
      "--allowed-tenants restricts nobody without --oidc-tenant-claim: every caller reads {namespace}",
      { namespace: settings.tenantNamespace },
    );
  }
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

function warnOfScanFileCache(settings: QuerySettings): void {
  const { queryScanFileCacheMaxBytes: bytes, queryScanFileCacheMaxEntries: entries } = settings;
  if ((bytes > 0) === (entries > 0)) return;
  getLogger(["svc", "query"]).warning(
    "the scan file cache is off: it needs both --query-scan-file-cache-max-bytes and " +
      "--query-scan-file-cache-max-entries, and one of them is 0",
  );
}

interface EngineParts {
  /** Closes what the engine uses, after the engine. */
  readonly owner: AsyncDisposableStack;
  readonly clock: Clock;
  readonly catalog: CatalogReader;
  readonly metrics: QueryMetrics;
  readonly plan: QueryMemoryPlan;
  readonly keeper: MemoryKeeper<QueryPart>;
  readonly asDriver: EngineProcesses["asDriver"];
}

async function openQueryEngine(
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

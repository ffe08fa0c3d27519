/** Builds the query server from its settings and runs it: engine, readiness, two listeners. */

import { getLogger } from "@logtape/logtape";
import type { AuthMode } from "../shared/auth/authenticator.ts";
import { LateResource } from "../shared/base/late_resource.ts";
import { VERSION } from "../shared/base/version.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { openCatalogReader } from "../shared/catalog/open_catalog.ts";
import {
  openDeleteLedger,
  openIndexCatalog,
  openMaintenanceCatalog,
} from "../shared/catalog/open_catalog_parts.ts";
import type { EngineProcesses } from "../shared/engine/duckdb/open_databases.ts";
import type { Engine } from "../shared/engine/types.ts";
import { ByteBudget } from "../shared/base/byte_budget.ts";
import { type ListenAddress, parseListenAddress } from "../shared/http/listen_address.ts";
import { connectionBounds } from "../shared/http/connection_options.ts";
import { readTlsFiles } from "../shared/http/tls_files.ts";
import { type Clock, SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { environment } from "../shared/os/environment.ts";
import type { FileSystem } from "../shared/os/file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import { openStoreReader } from "../shared/storage/open_store.ts";
import { openAccess } from "./access_gate.ts";
import { openAudit } from "./audit/open_audit.ts";
import { Admission } from "./admission/admission.ts";
import { openDistribution } from "./distributed/open_distribution.ts";
import { DeleteTasks } from "./delete_tasks/delete_tasks.ts";
import type { QuerySettings } from "./flags.ts";
import { openRestCatalog, openRestCommits } from "./iceberg_rest/open_iceberg_rest.ts";
import { LongStatements } from "./sql/long_reads.ts";
import { openJobs } from "./jobs/open_jobs.ts";
import { ManagedIndexes } from "./indexes/managed_indexes.ts";
import { openMemory } from "./memory/open_memory.ts";
import { createQueryMetrics } from "./metrics/metrics.ts";
import { startPg } from "./pg/start_pg.ts";
import {
  type EngineParts,
  gaugeEngine,
  openQueryEngine,
  warnOfScanFileCache,
} from "./open_query_engine.ts";
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

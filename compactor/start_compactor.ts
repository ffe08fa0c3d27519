/** Runs the compactor: as a process with a metrics listener, inside another role, or once. */

import { getLogger } from "@logtape/logtape";
import { counted } from "../shared/base/counted.ts";
import { UsageError } from "../shared/base/errors.ts";
import { MS_PER_DAY } from "../shared/base/time.ts";
import { VERSION } from "../shared/base/version.ts";
import { withoutTenants } from "../shared/tenant/tenant_labels.ts";
import {
  formatListenAddress,
  type ListenAddress,
  parseListenAddress,
} from "../shared/http/listen_address.ts";
import { serveMetrics } from "../shared/http/serve_metrics.ts";
import { summaryLimitsOf } from "../shared/derived/summary/summary_options.ts";
import { type CompactorObservers, countCompactor } from "../shared/upkeep/compactor_metrics.ts";
import { drainAll, type DrainTotals } from "../shared/drain/drain_all.ts";
import { startDrainLoop } from "../shared/drain/drain_loop.ts";
import { combineObservers } from "../shared/drain/drain_observer.ts";
import { allTables, startMaintenanceLoop } from "../shared/upkeep/maintenance_loop.ts";
import { combineMaintenance } from "../shared/upkeep/maintenance_observer.ts";
import { type TableSweepOptions, tableSweeps } from "../shared/upkeep/table_sweeps.ts";
import { catalogPlace } from "../shared/catalog/postgres_pool.ts";
import { startScrubLoop } from "../shared/upkeep/scrub_loop.ts";
import { DRAIN_GATE_DEFAULT, type DrainGate } from "../shared/drain/plan_drain.ts";
import { sweepLane, sweepMirror } from "../shared/drain/sweep_lane.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { deleteOnce, deleteOptionsOf, startDeletes } from "./delete_tasks.ts";
import type { CompactorSettings } from "./flags.ts";
import { logDrain } from "./log_drain.ts";
import { logMaintenance } from "./log_maintenance.ts";
import { tellLostCatalog } from "./lost_catalog.ts";
import { countTotals, type MaintenanceTotals } from "./maintenance_totals.ts";
import { gaugeMemory } from "../shared/memory/memory_metrics.ts";
import { residentBytes } from "../shared/os/resident_memory.ts";
import { type CompactorPart, planCompactorMemory } from "./memory_parts.ts";
import { createCompactorMetrics } from "./metrics.ts";
import { PatientDrain } from "./patient_drain.ts";
import { requeueAll, watchQuarantine } from "./quarantine.ts";
import { type DrainBells, listenToCatalog, watchWal } from "./drain_bells.ts";
import {
  type CompactorPaths,
  compactorPaths,
  mirrorDrainOf,
  mirrorPrefixOf,
  type OpenDrain,
  openDrain,
} from "./open_drain.ts";

const MIB = 1024 * 1024;
/** What one claim takes: less than a drain that is alone, so that several share a backlog. */
const CLAIM_BYTES_MAX = 64 * MIB;
const TEMPORARIES_INTERVAL_MS = 3_600_000;
/** Other roles mostly start at the same time: the query server is to answer first. */
const MAINTENANCE_PAUSE_MS = 3_000;

export interface RunningDrain extends AsyncDisposable {
  /** Looks at the lanes at once: a commit was asked for in this process. */
  wake(): void;
  /** Lets the commit under way end, abandons it after ten seconds. Idempotent. */
  stop(): Promise<void>;
}

export interface Compactor extends RunningDrain {
  readonly metricsAddress: ListenAddress;
}

/** Starts the compactor as a service. Errors: `OperatingError`s that name the option to change. */
export async function startCompactor(settings: CompactorSettings): Promise<Compactor> {
  checkWalOnly(settings);
  const bind = parseListenAddress(settings.metricsBind, "--metrics-bind");
  const metrics = createCompactorMetrics(
    { version: VERSION, role: "compactor" },
    settings.metricsTenantLabels ? {} : { shown: withoutTenants },
  );
  await using starting = new AsyncDisposableStack();
  let drain: PatientDrain | undefined = undefined;
  const memory = planCompactorMemory(settings.memoryBytes);
  let held: OpenDrain["held"] | undefined = undefined as OpenDrain["held"] | undefined;
  gaugeMemory<CompactorPart>(metrics, {
    plan: memory,
    residentBytes,
    held: { rows: () => held?.rows() ?? 0, threads: () => held?.threads() ?? 0 },
  });
  metrics.ready.readAtScrape(() => drain !== undefined && drain.problem === undefined ? 1 : 0, {});
  const metricsServer = starting.use(
    serveMetrics({
      bind,
      settings,
      metrics,
      problem: () => drain === undefined ? "it starts" : drain.problem,
    }),
  );
  const onOpened = (opened: OpenDrain) => held = opened.held;
  drain = starting.use(
    await startDrain(settings, countCompactor(metrics), { isAlone: true, onOpened }),
  );
  const running = starting.move();
  getLogger(["svc", "compactor"]).info(
    "compactor runs as {role} on {source}, metrics on {metrics}",
    {
      role: settings.role,
      source: settings.catalogClaim ? "claims of the mirror" : "the WAL",
      metrics: formatListenAddress(metricsServer.address),
    },
  );
  let stopping: Promise<void> | undefined;
  const stop = () => stopping ??= running.disposeAsync();
  return {
    metricsAddress: metricsServer.address,
    wake: () => drain?.wake(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * Starts what a compactor does, without a listener: of a process, or inside another role's
 * (`embeddedSettings`), whose log it uses. Waits for a catalog that is away (`PatientDrain`).
 * Errors: `OperatingError`s that name the option to change.
 */
export function startDrain(
  settings: CompactorSettings,
  observers: CompactorObservers,
  options: StartDrainOptions = {},
): Promise<PatientDrain> {
  return PatientDrain.open(() => startDrainNow(settings, observers, options), new SystemClock());
}

interface StartDrainOptions {
  /** Whether the process has no other role: see `OpenDrainOptions`. */
  readonly isAlone?: boolean;
  /** Is told of what was opened; again after a catalog was away at the start. */
  readonly onOpened?: (opened: OpenDrain) => void;
}

/** Errors: `unavailable`, `corrupt`, `permission_denied` of the catalog. */
async function startDrainNow(
  settings: CompactorSettings,
  observers: CompactorObservers,
  { isAlone = false, onOpened }: StartDrainOptions,
): Promise<RunningDrain> {
  const paths = drainPaths(settings);
  const intervalMs = settings.intervalSecs * 1_000;
  const [drains, sweeps] = [settings.role !== "maintenance", settings.role !== "drain"];
  // Maintenance is of tables, too, and not of the WAL alone.
  const tables = sweeps && !settings.walOnly;
  await using starting = new AsyncDisposableStack();
  const opened = starting.use(
    await openDrain(paths, {
      isAlone,
      memory: planCompactorMemory(settings.memoryBytes),
      attributeColumnsMax: settings.attributeColumns,
      summaries: summaryLimitsOf(settings),
      observers: {
        drain: combineObservers(logDrain(), observers.drain),
        maintenance: combineMaintenance(logMaintenance(), observers.maintenance),
      },
    }),
  );
  onOpened?.(opened);
  await tellLostCatalog(opened.maintenance, catalogPlace(paths.catalog));
  const { claiming, observer } = opened.deps;
  if (claiming !== undefined) {
    if (paths.mirror?.requeues === true) await requeueAll(claiming.claims);
    starting.defer(watchQuarantine(claiming.claims, observer ?? {}));
  }
  if (tables) starting.defer(sweepTemporariesHourly(opened));
  const deletes = tables ? deleteOptionsOf(settings, observers.deletes) : undefined;
  if (deletes !== undefined) starting.use(await startDeletes(paths, opened, deletes));
  let wake = () => {};
  const bells = drains
    ? starting.use(openBells(paths, opened, { intervalMs, wake: () => wake() }))
    : undefined;
  const loop = starting.use(
    startDrainLoop(opened.deps, {
      gate: gateOf(settings),
      drains,
      sweeps,
      intervalMs,
      ...(bells === undefined ? {} : { pollMs: () => bells.pollMs() }),
    }),
  );
  wake = () => loop.wake();
  if (tables) {
    const each = tableSweeps(opened.maintenance, sweepOptionsOf(settings));
    starting.use(
      startMaintenanceLoop({ ...opened.maintenance, pauseMs: MAINTENANCE_PAUSE_MS }, each),
    );
    const bytesPerSecMax = settings.scrubMaxMbPerSec * 1_000_000;
    const periodMs = settings.scrubPeriodDays * MS_PER_DAY;
    if (bytesPerSecMax > 0) {
      starting.use(startScrubLoop(opened.maintenance, { periodMs, bytesPerSecMax }));
    }
  }
  const running = starting.move();
  let stopping: Promise<void> | undefined;
  const stop = () => stopping ??= running.disposeAsync();
  return { wake: () => loop.wake(), stop, [Symbol.asyncDispose]: stop };
}

function openBells(
  paths: CompactorPaths,
  { mirrorAdmin }: OpenDrain,
  options: { readonly intervalMs: number; wake(): void },
): DrainBells {
  return paths.mirror === undefined
    ? watchWal(paths, options.wake)
    : listenToCatalog(paths, { ...options, admin: mirrorAdmin });
}

/** What `--once` did. */
export interface OnceTotals extends DrainTotals {
  /** Committed segments that it removed. */
  readonly swept: number;
  /** Delete tasks that it carried out. */
  readonly deleted: number;
  readonly maintenance: MaintenanceTotals;
}

/** `--once`: everything that is sealed now. Lanes that fail are in `failures`. */
export async function compactOnce(
  settings: CompactorSettings,
  options: { readonly signal?: AbortSignal } = {},
): Promise<OnceTotals> {
  checkWalOnly(settings);
  const counted = countTotals();
  await using opened = await openDrain(drainPaths(settings), {
    isAlone: true,
    memory: planCompactorMemory(settings.memoryBytes),
    attributeColumnsMax: settings.attributeColumns,
    summaries: summaryLimitsOf(settings),
    observers: {
      drain: logDrain(),
      maintenance: combineMaintenance(logMaintenance(), counted.observer),
    },
  });
  const { deps, store } = opened;
  if (deps.claiming !== undefined && settings.requeueQuarantined) {
    await requeueAll(deps.claiming.claims);
  }
  const idle = { lanes: 0, rows: 0, files: 0, commits: 0, poisoned: 0, secs: 0, failures: [] };
  const totals = settings.role === "maintenance" ? idle : await drainAll(deps, options);
  const done = { maintenance: counted.totals };
  if (settings.role === "drain") return { ...totals, ...done, swept: 0, deleted: 0 };
  // Their memory goes, and they start again with the first file of maintenance.
  deps.encoder[Symbol.dispose]();
  deps.deriver?.[Symbol.dispose]();
  let swept = 0;
  for (const lane of await deps.wal.lanes()) {
    swept += await sweepLane(deps, lane);
  }
  await sweepMirror(deps, options.signal);
  if (settings.walOnly) return { ...totals, ...done, swept, deleted: 0 };
  const deletes = deleteOptionsOf(settings);
  const deleted = deletes === undefined
    ? 0
    : await deleteOnce(drainPaths(settings), opened, { ...deletes, ...options });
  await maintainAll(opened, { ...options, ...sweepOptionsOf(settings) });
  await store.sweepUnfinished(deps.clock.nowMs());
  return { ...totals, ...done, swept, deleted };
}

/** Every sweep of every table, until it finds nothing more. Errors: those of the sweeps. */
async function maintainAll(
  { maintenance }: OpenDrain,
  { signal = new AbortController().signal, ...options }: TableSweepOptions & {
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  const sweeps = tableSweeps(maintenance, options);
  for (const ident of await allTables(maintenance.catalog)) {
    for (const sweep of sweeps) {
      while (await sweep.run(ident, signal)) signal.throwIfAborted();
    }
  }
}

/** Errors: `invalid_argument`. */
function checkWalOnly(
  { walOnly, role, catalogClaim }: Pick<CompactorSettings, "walOnly" | "role" | "catalogClaim">,
): void {
  if (!walOnly || (role === "maintenance" && !catalogClaim)) return;
  throw new UsageError(
    catalogClaim
      ? "Cannot maintain only the WAL with --catalog-claim, whose process has none: leave out --wal-only"
      : `Cannot maintain only the WAL as --role ${role}: give --role maintenance`,
  );
}

function drainPaths(settings: CompactorSettings): CompactorPaths {
  const mirror = mirrorDrainOf(settings);
  const mirrorPrefix = mirrorPrefixOf(settings);
  return {
    ...compactorPaths(settings),
    ...(mirror === undefined ? {} : { mirror }),
    ...(mirrorPrefix === "" ? {} : { mirrorPrefix }),
  };
}

function gateOf(settings: CompactorSettings): DrainGate {
  return {
    ...DRAIN_GATE_DEFAULT,
    targetBytes: settings.commitBatchTargetMb * MIB,
    ageMsMax: settings.commitMaxAgeSecs * 1_000,
    ...(settings.catalogClaim ? { commitBytesMax: CLAIM_BYTES_MAX } : {}),
  };
}

function sweepOptionsOf(settings: CompactorSettings): TableSweepOptions {
  return {
    expire: {
      retainLast: settings.snapshotRetainLast,
      ageMsMin: settings.snapshotRetainSecs * 1_000,
    },
    summariesIntervalMs: settings.aggShortScanIntervalSecs * 1_000,
    merge: { inputBytesMax: planCompactorMemory(settings.memoryBytes).mergeFileBytes },
  };
}

/** Starts it; the function returned ends it. */
function sweepTemporariesHourly({ deps, store }: OpenDrain): () => void {
  const log = getLogger(["svc", "compactor"]);
  const sweep = async () => {
    try {
      const removed = await store.sweepUnfinished(deps.clock.nowMs());
      if (removed > 0) {
        log.info("removed {files} that no writer finished", {
          files: counted(removed, "file"),
        });
      }
    } catch (error) {
      log.warning("cannot sweep unfinished files, next try in an hour: {error}", { error });
    }
  };
  sweep();
  const timer = setInterval(sweep, TEMPORARIES_INTERVAL_MS);
  return () => clearInterval(timer);
}

/**
 * Builds the ingest server from its settings and runs it: WAL, catalog reader, readiness, two
 * listeners.
 */

import { getLogger } from "@logtape/logtape";
import { VERSION } from "../shared/base/version.ts";
import { belowDataDir, storagePlaces } from "../shared/catalog/storage_places.ts";
import { type DrainBell, openDrainBell } from "../shared/catalog/drain_bell.ts";
import { openCatalogReader } from "../shared/catalog/open_catalog.ts";
import type { AuthMode } from "../shared/auth/authenticator.ts";
import { browserRulesOf } from "../shared/http/browser_rules.ts";
import { residentBytes } from "../shared/os/resident_memory.ts";
import { gaugeMemory } from "../shared/memory/memory_metrics.ts";
import { ingestMemory, type IngestPart } from "./memory_parts.ts";
import { ByteBudget } from "../shared/base/byte_budget.ts";
import {
  formatListenAddress,
  type ListenAddress,
  parseListenAddress,
} from "../shared/http/listen_address.ts";
import { listenerMeter } from "../shared/http/connection_metrics.ts";
import type { ConnectionBounds } from "../shared/http/connection_counts.ts";
import type { TlsIdentity } from "../shared/http/listener.ts";
import { connectionBounds } from "../shared/http/connection_options.ts";
import type { LaneId } from "../shared/tenant/tenant.ts";
import { withoutTenants } from "../shared/tenant/tenant_labels.ts";
import { guardOrigin } from "../shared/http/origin_guard.ts";
import { type Handler, type RunningServer, serve } from "../shared/http/serve.ts";
import { serveMetrics } from "../shared/http/serve_metrics.ts";
import type { Http2Server } from "../shared/http2/serve_http2.ts";
import { readTlsFiles } from "../shared/http/tls_files.ts";
import { type CompactorObservers, countCompactor } from "../shared/upkeep/compactor_metrics.ts";
import { type Clock, SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import type { FileSystem } from "../shared/os/file_system.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import type { Wal } from "../shared/wal/types.ts";
import { type Admission, openAdmission } from "./admission.ts";
import { AnswersFirst } from "./answers_first.ts";
import { type Backpressure, openBackpressure } from "./backpressure/backpressure.ts";
import { type IngestSettings, LIMITS, OPTIONS } from "./flags.ts";
import { type DrainHook, forceCommit } from "./force_commit.ts";
import { serveOtlp } from "./grpc/serve_otlp.ts";
import { createHttpHandler } from "./http_handler.ts";
import { LaneChoice } from "./lane_choice.ts";
import { openIngestWal } from "./open_ingest_wal.ts";
import { createIngestMetrics, type IngestMetrics } from "./metrics.ts";
import { idleOptions, isSingleTenant, requireSense } from "./option_checks.ts";
import { DecodeThread } from "./otlp/decode_thread.ts";
import type { OtlpDeps } from "./otlp/otlp_route.ts";
import { Readiness } from "./readiness.ts";
import { StreamHub } from "./stream/stream_hub.ts";
import { TableShapes } from "./table_shapes.ts";
import { findWaitingLanes } from "./waiting_lanes.ts";

export interface IngestDeps {
  /**
   * Starts a compactor in this process (`--with-compactor`). The server hands it observers that
   * count into its `/metrics`, wakes it for `commit=force`, and stops it after the last request.
   */
  readonly startDrain?: (observers: CompactorObservers) => RunningDrain | Promise<RunningDrain>;
  readonly fs?: FileSystem;
  readonly clock?: Clock;
}

/** What `startDrainLoop` returns, as far as the server needs it. */
export type RunningDrain = DrainHook & AsyncDisposable;

export interface IngestServer extends AsyncDisposable {
  readonly address: ListenAddress;
  readonly metricsAddress: ListenAddress;
  /** Undefined with `--disable-otlp-grpc`. */
  readonly otlpGrpcAddress: ListenAddress | undefined;
  /** Stops accepting, lets requests in flight finish, seals and closes the WAL. Idempotent. */
  stop(): Promise<void>;
}

export interface IngestPaths {
  /** Absolute. */
  readonly wal: string;
  /** Where the WAL may be mirrored to, in the form that `openStore` takes. */
  readonly warehouse: string;
  /** Where the catalog is, in the form that `openCatalogReader` takes. */
  readonly catalog: string;
}

/** Where the server's places are. */
export function ingestPaths(
  settings: Pick<
    IngestSettings,
    "dataDir" | "wal" | "warehouse" | "warehouseUrl" | "catalogUri"
  >,
): IngestPaths {
  return { wal: belowDataDir(settings, settings.wal), ...storagePlaces(settings) };
}

/** Starts the server. Errors: `OperatingError`s that name the option to change. */
export async function startIngest(
  settings: IngestSettings,
  deps: IngestDeps = {},
): Promise<IngestServer> {
  const clock = deps.clock ?? new SystemClock();
  const binds = bindsOf(settings);
  requireSense(settings, { drainsHere: deps.startDrain !== undefined });
  const bounds = connectionBounds(settings, { listeners: binds.grpc ? 2 : 1, role: "ingest" });
  const paths = ingestPaths(settings);
  const metrics = createIngestMetrics(
    { version: VERSION, role: "ingest" },
    settings.metricsTenantLabels ? {} : { shown: withoutTenants },
  );
  const { startDrain } = deps;

  await using starting = new AsyncDisposableStack();
  const fs = deps.fs ?? new DenoFileSystem();
  const tls = await readTlsFiles(settings, fs);
  const admission = starting.use(openAdmission(settings, { clock, metrics }));
  const { plan, threads, ...watch } = ingestMemory(settings);
  const backpressure = starting.use(openBackpressure(settings, { metrics, clock, ...watch }));
  const decodeThread = starting.use(new DecodeThread(threads));
  const answersFirst = new AnswersFirst();
  const wal = await openIngestWal(settings, {
    ...{ starting, fs, clock, metrics, paths, threads },
    listen: (event) => answersFirst.listen(event),
  });
  const isWaiting = await findWaitingLanes(openWalReader(fs, paths.wal));
  const catalog = starting.use(await openCatalogReader(paths.catalog));
  const drain = startDrain && starting.use(await startDrain(countCompactor(metrics)));
  const shapes = new TableShapes(catalog, { clock });
  starting.defer(() => shapes.stop());
  await shapes.start();
  const shapeOf = (lane: LaneId) => shapes.shapeOf(lane);
  const readiness = await openReadiness(wal, { starting, clock, metrics });
  const force = {
    wal,
    catalog,
    clock,
    metrics,
    timeoutMs: settings.commitForceTimeoutSecs * 1_000,
    bell: settings.remoteDrain ? openBell(starting, paths.catalog) : undefined,
  };
  const stream = new StreamHub({ clock, metrics, bytesMax: plan.bytes.streams });
  const bodies = new ByteBudget(plan.bytes.bodies, { isShared: !isSingleTenant(settings) });
  const write = writeDeps(settings, { wal, clock, metrics, admission, backpressure, bodies });
  const held = { bodies: () => bodies.used, streams: () => stream.bytes };
  gaugeMemory<IngestPart>(metrics, { plan, residentBytes, held });
  metrics.streamReaders.readAtScrape(() => stream.readers, {});
  const writes = {
    stream,
    shapeOf,
    decodeThread,
    answersFirst,
    ...write,
    canForce: !settings.remoteDrain || force.bell !== undefined,
    forceCommit: (lane: LaneId, segment: string) => forceCommit(lane, segment, { ...force, drain }),
  };
  // It has been on its way since the start.
  await admission.started();
  const handler = createHttpHandler(settings, {
    writes,
    admission,
    stream,
    readyz: () => readiness.response(),
    shapeOf,
    hasIndex: (lane) => writes.lanes.isOpen(lane) || isWaiting(lane) || shapes.has(lane),
  });
  const listening = startListeners(settings, {
    ...{ starting, binds, bounds, tls, metrics, handler, writes },
    isOpen: admission.mode === "open",
  });
  const { server, grpc } = listening;
  starting.defer(async () => void await Promise.all([server.stop(), grpc?.stop()]));
  starting.defer(() => stream.stop());
  // First of all: load balancers go elsewhere while bodies of requests in flight arrive.
  starting.defer(() => readiness.stop());
  warnOfOptions(settings, admission.mode);
  return runningServer({ ...listening, resources: starting.move(), paths });
}

/** Asks the WAL whether it can be written, now and then. */
async function openReadiness(
  wal: Pick<Wal, "unreadyReason">,
  { starting, clock, metrics }: {
    readonly starting: AsyncDisposableStack;
    readonly clock: Clock;
    readonly metrics: IngestMetrics;
  },
): Promise<Readiness> {
  const readiness = new Readiness(() => wal.unreadyReason(), { clock });
  starting.defer(() => readiness.stop());
  await readiness.start();
  metrics.ready.readAtScrape(() => Object.keys(readiness.checks()).length === 0 ? 1 : 0, {});
  return readiness;
}

/** Where the server listens. */
interface Binds {
  readonly http: ListenAddress;
  readonly metrics: ListenAddress;
  /** Undefined with `--disable-otlp-grpc`. */
  readonly grpc: ListenAddress | undefined;
}

function bindsOf(settings: IngestSettings): Binds {
  return {
    http: parseListenAddress(settings.bind, "--bind"),
    metrics: parseListenAddress(settings.metricsBind, "--metrics-bind"),
    grpc: settings.disableOtlpGrpc
      ? undefined
      : parseListenAddress(settings.otlpGrpcListen, "--otlp-grpc-listen"),
  };
}

interface ListenerParts {
  /** Stops the listeners that were started. */
  readonly starting: AsyncDisposableStack;
  readonly binds: Binds;
  readonly bounds: ConnectionBounds;
  readonly tls: TlsIdentity | undefined;
  readonly metrics: IngestMetrics;
  readonly handler: Handler;
  readonly writes: OtlpDeps;
  /** Nobody has to say who they are. */
  readonly isOpen: boolean;
}

function startListeners(
  settings: IngestSettings,
  { starting, binds, bounds, tls, metrics, handler, writes, isOpen }: ListenerParts,
): Pick<RunningParts, "server" | "metricsServer" | "grpc"> {
  const rulesOf = ({ hostname }: ListenAddress) => browserRulesOf(settings, { hostname, isOpen });
  const metricsServer = starting.use(serveMetrics({ bind: binds.metrics, settings, metrics }));
  const grpc = binds.grpc &&
    starting.use(serveOtlp({
      listen: binds.grpc,
      bounds,
      meter: listenerMeter(metrics, "grpc"),
      tls,
      stopMsMax: LIMITS.stopMsMax,
      deps: writes,
      browsers: rulesOf(binds.grpc),
    }));
  const server = starting.use(serve({
    ...binds.http,
    option: "--bind",
    ...(tls === undefined ? {} : { tls }),
    stopMsMax: LIMITS.stopMsMax,
    bounds,
    meter: listenerMeter(metrics, "http"),
    handler: guardOrigin(handler, rulesOf(binds.http)),
  }));
  return { server, metricsServer, grpc };
}

/** The bell of a remote drain; none for a catalog in a file, which no other machine shares. */
function openBell(starting: AsyncDisposableStack, catalog: string): DrainBell | undefined {
  const bell = openDrainBell(catalog);
  return bell && starting.use(bell);
}

/** What all routes that write need, but how they wait for a commit. */
export function writeDeps(
  settings: IngestSettings,
  parts: {
    wal: Pick<Wal, "append">;
    clock: Clock;
    metrics: IngestMetrics;
    admission: Admission;
    backpressure: Backpressure;
    bodies: ByteBudget;
  },
) {
  parts.metrics.bodiesInFlight.readAtScrape(() => parts.bodies.used, {});
  return {
    ...parts,
    admission: parts.backpressure.guarded(parts.admission),
    queues: parts.backpressure.queues,
    bodyCap: {
      bytesMax: settings.ingestMaxBodyBytes,
      option: `--${OPTIONS.ingestMaxBodyBytes.flag}`,
    },
    requestMsMax: LIMITS.requestMsMax,
    lanes: new LaneChoice(settings.ingestMaxLanes, {
      tenants: parts.admission.tenants,
      metrics: parts.metrics,
    }),
  };
}

function warnOfOptions(settings: IngestSettings, mode: AuthMode): void {
  const log = getLogger(["svc", "ingest"]);
  for (const idle of idleOptions(settings)) log.warning("{idle}", { idle });
  if (mode !== "open") return;
  log.warning("no authentication is configured: whoever reaches this server can write");
}

interface RunningParts {
  readonly server: RunningServer;
  readonly metricsServer: RunningServer;
  readonly grpc: Http2Server | undefined;
  readonly resources: AsyncDisposableStack;
  readonly paths: IngestPaths;
}

function runningServer(parts: RunningParts): IngestServer {
  const { server, metricsServer, grpc, resources, paths } = parts;
  const log = getLogger(["svc", "ingest"]);
  log.info("ingest server listens on {address}, OTLP/gRPC on {grpc}, metrics on {metrics}", {
    address: formatListenAddress(server.address),
    grpc: grpc === undefined ? "no port" : formatListenAddress(grpc.address),
    metrics: formatListenAddress(metricsServer.address),
    wal: paths.wal,
  });
  let stopping: Promise<void> | undefined;
  const stop = () => stopping ??= resources.disposeAsync();
  return {
    address: server.address,
    metricsAddress: metricsServer.address,
    otlpGrpcAddress: grpc?.address,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The query server: the only door for `main.ts`, `cli/` and tests. */

import { getLogger } from "@logtape/logtape";
import { totalmem } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatingError } from "../shared/base/errors.ts";
import { VERSION } from "../shared/base/version.ts";
import { sqlitePathOf } from "../shared/catalog/catalog_uri.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { openSqliteCatalog } from "../shared/catalog/sqlite_catalog.ts";
import { openEngine } from "../shared/engine/open_engine.ts";
import type { Engine } from "../shared/engine/types.ts";
import { tenantOf } from "../shared/event/tenant.ts";
import {
  formatListenAddress,
  type ListenAddress,
  parseListenAddress,
} from "../shared/http/listen_address.ts";
import { serve } from "../shared/http/serve.ts";
import { scrapeResponse } from "../shared/metrics/scrape.ts";
import { type Clock, SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import type { FileSystem } from "../shared/os/file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import { openLocalReader } from "../shared/storage/local_store.ts";
import type { QuerySettings } from "./flags.ts";
import { defaultPoolBytes } from "./memory_pool_size.ts";
import { createQueryMetrics } from "./metrics.ts";
import { Readiness } from "./readiness.ts";
import { queryApp } from "./routes.ts";

export { OPTIONS, type QuerySettings } from "./flags.ts";

/** What tests put in the place of the real thing. */
export interface QueryDeps {
  readonly engine?: Engine;
  readonly clock?: Clock;
}

export interface QueryServer extends AsyncDisposable {
  readonly address: ListenAddress;
  readonly metricsAddress: ListenAddress;
  /** Stops accepting, lets queries in flight end, closes the engine. Idempotent. */
  stop(): Promise<void>;
}

/** Starts the server. Errors: `OperatingError`s that name the option to change. */
export async function startQuery(
  settings: QuerySettings,
  deps: QueryDeps = {},
): Promise<QueryServer> {
  const log = getLogger(["svc", "query"]);
  const clock = deps.clock ?? new SystemClock();
  const bind = parseListenAddress(settings.bind, "--bind");
  const metricsBind = parseListenAddress(settings.metricsBind, "--metrics-bind");
  const metrics = createQueryMetrics({ version: VERSION, role: "query" });

  await using starting = new AsyncDisposableStack();
  const engine = starting.use(deps.engine ?? await openQueryEngine(settings, starting, clock));
  const readiness = starting.use(new Readiness({ ping: () => engine.ping(), clock }));
  const app = queryApp({
    engine,
    readiness,
    metrics,
    clock,
    namespace: settings.tenantNamespace,
    tenant: tenantOf(settings.tenantNamespace),
    rowsCeiling: settings.maxRows,
  });
  const metricsServer = starting.use(serve({
    ...metricsBind,
    option: "--metrics-bind",
    handler: (request) => answerMetrics(request, metrics),
  }));
  const server = starting.use(serve({
    ...bind,
    option: "--bind",
    handler: (request) => app.fetch(request),
  }));

  const running = starting.move();
  log.info("query server listens on {address}, metrics on {metrics}", {
    address: formatListenAddress(server.address),
    metrics: formatListenAddress(metricsServer.address),
  });
  log.warning("no authentication is configured: whoever reaches this server can read every table");
  let stopping: Promise<void> | undefined;
  const stop = () => stopping ??= running.disposeAsync();
  return {
    address: server.address,
    metricsAddress: metricsServer.address,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function answerMetrics(
  request: Request,
  metrics: Parameters<typeof scrapeResponse>[1],
): Response | Promise<Response> {
  if (new URL(request.url).pathname === "/metrics") return scrapeResponse(request, metrics);
  return new Response("Only /metrics is served here\n", { status: 404 });
}

/** Where everything lies, all absolute. */
export interface QueryPaths {
  readonly warehouse: string;
  readonly catalog: string;
  readonly cache: string;
  readonly wal: string | undefined;
}

/** Errors: `invalid_argument` for places that this server cannot use. */
export function queryPaths(settings: QuerySettings): QueryPaths {
  const dataDir = resolve(settings.dataDir);
  const below = (path: string) => isAbsolute(path) ? resolve(path) : join(dataDir, path);
  const warehouse = settings.warehouseUrl === undefined
    ? below(settings.warehouse)
    : warehousePathOf(settings.warehouseUrl);
  const { catalogUri, queryWalBufferDir } = settings;
  return {
    warehouse,
    catalog: catalogUri === undefined
      ? join(warehouse, "catalog.db")
      : resolve(sqlitePathOf(catalogUri)),
    cache: below(settings.cacheDir),
    wal: queryWalBufferDir === undefined ? undefined : resolve(queryWalBufferDir),
  };
}

function warehousePathOf(url: string): string {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(url)) return resolve(url);
  if (url.startsWith("file://")) return fileURLToPath(url);
  throw new OperatingError(
    "invalid_argument",
    `Cannot use --warehouse-url ${url.replace(/:.*/, ":…")}: only file:// URLs are known so far`,
    { reason: "unsupported_warehouse" },
  );
}

async function openQueryEngine(
  settings: QuerySettings,
  starting: AsyncDisposableStack,
  clock: Clock,
): Promise<Engine> {
  const files = new DenoFileSystem();
  const paths = queryPaths(settings);
  await requireReadable(files, paths.warehouse);
  const catalog: CatalogReader = starting.use(
    await openSqliteCatalog({ path: paths.catalog, readOnly: true }),
  );
  return await openEngine({
    store: openLocalReader(files, paths.warehouse),
    catalog,
    files,
    cacheDir: paths.cache,
    memoryBytesMax: settings.memoryPoolBytes ??
      await defaultPoolBytes({ files, machineBytes: totalmem }),
    spillBytesMax: settings.spillBytesMax,
    ...(settings.threads === undefined ? {} : { threads: settings.threads }),
    clock,
    random: new SystemRandom(),
  });
}

/** A warehouse that does not exist yet is an empty one: the compactor makes it with the first rows. */
async function requireReadable(files: FileSystem, warehouse: string): Promise<void> {
  try {
    if (await files.exists(warehouse)) await files.readDir(warehouse);
  } catch (cause) {
    throw new OperatingError(
      "permission_denied",
      `Cannot read the warehouse ${warehouse}: grant read permission on it, ` +
        "or choose another with --warehouse or --warehouse-url",
      { cause },
    );
  }
}

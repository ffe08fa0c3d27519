/** Routes of the query server: one table, and the Hono app made from it. */

import { type Context, Hono } from "hono";
import { present } from "../shared/base/assert.ts";
import { isOperatingError, OperatingError } from "../shared/base/errors.ts";
import { drainBody } from "../shared/http/body.ts";
import { errorResponse, jsonResponse, metricsElsewhere } from "../shared/http/error_response.ts";
import {
  type DeleteTaskService,
  getDeleteTask,
  listDeleteTasks,
  submitDeleteTask,
} from "./delete_tasks/delete_task_routes.ts";
import { answerFields, answerFieldValues } from "./fields/field_routes.ts";
import {
  type Addressed,
  createIndex,
  deleteIndex,
  deleteTemplate,
  getIndex,
  getTemplate,
  type IndexService,
  listIndexes,
  listTemplates,
  putIndex,
  putTemplate,
} from "./indexes/index_routes.ts";
import type { JobDesk } from "./jobs/batch_jobs.ts";
import { cancelJob, getJob, getJobResult, type JobService, listJobs } from "./jobs/job_routes.ts";
import { memoryPool } from "./memory_pool.ts";
import { answerSql, explainSql } from "./sql/sql.ts";
import {
  greet,
  isCoordinator,
  listPeers,
  type PeerDesk,
  takeShard,
} from "./distributed/peer_routes.ts";
import type { CallerGate, Peer, QueryCaller } from "./query_caller.ts";
import type { SqlService } from "./sql/sql_service.ts";
import type { Readiness } from "./readiness.ts";
import { getStatus, type StatusService } from "./status/status_route.ts";
import { pathBelow } from "./ui/page_config.ts";
import { addPage, type ServedPage } from "./ui/page_routes.ts";
import {
  refuseRest,
  REST_PREFIX,
  REST_ROUTES,
  type RestCatalogService,
} from "./iceberg_rest/rest_routes.ts";
import { answerTail, type TailService } from "./tail/tail_route.ts";
import { getTable, listTables, type TableService } from "./tables/table_routes.ts";
import { TRACE_ROUTES, type TraceService } from "./tracing/trace_routes.ts";

export interface QueryService
  extends
    SqlService,
    IndexService,
    JobService,
    DeleteTaskService,
    TailService,
    TableService,
    TraceService,
    StatusService,
    RestCatalogService {
  readonly readiness: Pick<Readiness, "problem">;
  readonly callers: CallerGate;
  /** For other servers; absent in tests. */
  readonly desk?: PeerDesk;
  readonly jobs: JobDesk;
  /** The page for browsers; undefined: there is none. */
  readonly page: ServedPage | undefined;
  /** A path that every path may have before it; "" for none. */
  readonly basePath: string;
}

/**
 * What the listener tells of a request's connection. It is the second argument of the app's
 * `fetch`.
 */
export interface Connection {
  readonly remoteAddr: { readonly hostname: string };
}

type App = Hono<{ Bindings: Connection }>;

interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path, with `:id` where the request names one thing. */
  readonly path: string;
  /** Answers a caller that the access check admits. */
  answer?(request: Request, service: QueryService, caller: QueryCaller): Promise<Response>;
  /** Answers a caller that the access check admits, for the thing that the path names. */
  answerFor?(request: Request, service: QueryService, addressed: Addressed): Promise<Response>;
  /** Answers another server that brings the coordinators' token. */
  answerServer?(request: Request, service: QueryService): Promise<Response>;
  /** Answers anybody: probes send no token. */
  probe?(service: QueryService): Response;
}

export const ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: "/api/v1/sql",
    answer: (request, service, caller) => answerSql(request, service, { caller, endpoint: "sql" }),
  },
  {
    method: "POST",
    path: "/api/v1/sql/local",
    answer: (request, service, caller) =>
      answerSql(request, service, { caller, endpoint: "sql_local" }),
  },
  { method: "POST", path: "/api/v1/sql/explain", answer: explainSql },
  {
    method: "POST",
    path: "/api/v1/sql/distributed",
    answer: (request, service, caller) =>
      answerSql(request, service, { caller, endpoint: "sql_distributed" }),
  },
  { method: "POST", path: "/api/v1/sql/shard", answer: takeShard, answerServer: takeShard },
  { method: "GET", path: "/api/v1/sql/peer", answer: greet, answerServer: greet },
  { method: "GET", path: "/api/v1/jobs", answer: listJobs },
  { method: "GET", path: "/api/v1/jobs/:id", answerFor: getJob },
  { method: "DELETE", path: "/api/v1/jobs/:id", answerFor: cancelJob },
  { method: "GET", path: "/api/v1/jobs/:id/result", answerFor: getJobResult },
  { method: "GET", path: "/api/v1/indexes", answer: listIndexes },
  { method: "POST", path: "/api/v1/indexes", answer: createIndex },
  { method: "GET", path: "/api/v1/indexes/:id", answerFor: getIndex },
  { method: "PUT", path: "/api/v1/indexes/:id", answerFor: putIndex },
  { method: "DELETE", path: "/api/v1/indexes/:id", answerFor: deleteIndex },
  { method: "GET", path: "/api/v1/index-templates", answer: listTemplates },
  { method: "GET", path: "/api/v1/index-templates/:id", answerFor: getTemplate },
  { method: "PUT", path: "/api/v1/index-templates/:id", answerFor: putTemplate },
  { method: "DELETE", path: "/api/v1/index-templates/:id", answerFor: deleteTemplate },
  { method: "GET", path: "/api/v1/delete-tasks", answer: listDeleteTasks },
  { method: "POST", path: "/api/v1/delete-tasks", answer: submitDeleteTask },
  { method: "GET", path: "/api/v1/delete-tasks/:id", answerFor: getDeleteTask },
  { method: "GET", path: "/api/v1/tail", answer: answerTail },
  { method: "GET", path: "/api/v1/fields", answer: answerFields },
  { method: "GET", path: "/api/v1/fields/:id/values", answerFor: answerFieldValues },
  { method: "GET", path: "/api/v1/tables", answer: listTables },
  { method: "GET", path: "/api/v1/tables/:id", answerFor: getTable },
  {
    method: "GET",
    path: "/api/v1/caller",
    answer: (_, __, caller) => Promise.resolve(jsonResponse(callerReport(caller))),
  },
  {
    method: "GET",
    path: "/api/v1/status",
    answer: (_, service, caller) => getStatus(service, caller),
  },
  {
    method: "GET",
    path: "/debug/memory-pool",
    answer: (_, service, caller) => memoryPool(service, caller),
  },
  {
    method: "GET",
    path: "/debug/peers",
    answer: (_, service, caller) => listPeers(service, caller),
  },
  { method: "GET", path: "/healthz", probe: () => jsonResponse({ status: "ok" }) },
  { method: "GET", path: "/readyz", probe: readyz },
];

const SERVER_MICROS_HEADER = "x-svc-server-micros";

/** Makes the app; its `fetch` answers every request, errors included. */
export function queryApp(service: QueryService): App {
  const { basePath } = service;
  const app: App = new Hono(
    basePath === "" ? {} : { getPath: (request) => pathBelow(basePath, request) },
  );
  app.use("/api/v1/*", async (context, next) => {
    const startedMs = service.clock.monotonicMs();
    await next();
    const micros = Math.round((service.clock.monotonicMs() - startedMs) * 1000);
    context.res.headers.set(SERVER_MICROS_HEADER, String(micros));
  });
  for (const { method, path, answer, answerFor, answerServer, probe } of ROUTES) {
    if (probe !== undefined) app.on(method, path, () => probe(service));
    if (answer === undefined && answerFor === undefined) continue;
    app.on(method, path, async (context) => {
      const request = context.req.raw;
      if (answerServer !== undefined && isCoordinator(request, service)) {
        return await answerServer(request, service);
      }
      const peer = () => context.env.remoteAddr.hostname;
      const caller = await admit(request, service.callers, peer);
      if (answer !== undefined) return await answer(request, service, caller);
      return await present(answerFor)(request, service, {
        caller,
        id: context.req.param("id") ?? "",
      });
    });
  }
  for (const route of TRACE_ROUTES) {
    app.get(route.path, (context) => answerForeign(context, service, route));
  }
  for (const route of REST_ROUTES) {
    app.on(route.method, route.path, (context) => answerForeign(context, service, route));
  }
  app.all(`${REST_PREFIX}/*`, (context) => refuseRest(context.req.raw));
  addPage(app, service.page);
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const methods = ROUTES.filter((route) => route.path === path).map((route) => route.method);
    app.all(path, (context) => methodNotAllowed(context, methods));
  }
  for (const { path } of TRACE_ROUTES) {
    app.all(path, (context) => methodNotAllowed(context, ["GET"]));
  }
  app.notFound(async (context) => {
    await drainBody(context.req.raw);
    if (context.req.path === "/metrics") return errorResponse(metricsElsewhere("9105"));
    return errorResponse(
      new OperatingError(
        "not_found",
        `Cannot ${context.req.method} ${context.req.path}: there is no such route; SQL goes to POST /api/v1/sql, and logs ` +
          "and traces to the ingest server (port 8088 unless told otherwise)",
        { reason: "unknown_route" },
      ),
    );
  });
  app.onError((error) => failure(error));
  return app;
}

/** A route of another protocol, whose errors have that protocol's form. */
interface ForeignRoute {
  answer(
    request: Request,
    service: QueryService,
    address: { readonly caller: QueryCaller; readonly names: Readonly<Record<string, string>> },
  ): Promise<Response>;
  failed(thrown: unknown): Response;
}

async function answerForeign(
  context: Context<{ Bindings: Connection }>,
  service: QueryService,
  route: ForeignRoute,
): Promise<Response> {
  const request = context.req.raw;
  try {
    const caller = await admit(request, service.callers, () => context.env.remoteAddr.hostname);
    return await route.answer(request, service, { caller, names: context.req.param() });
  } catch (error) {
    return route.failed(error);
  }
}

/**
 * A refused request is read to its end, within bounds, so that its sender sees the status and not a
 * reset.
 */
async function admit(request: Request, callers: CallerGate, peer: Peer): Promise<QueryCaller> {
  try {
    return await callers.admit(request, peer);
  } catch (error) {
    await drainBody(request);
    throw error;
  }
}

/** Whom the server takes the caller for. */
function callerReport({ tenant, namespace, subject, email }: QueryCaller) {
  return { tenant, namespace, subject, email };
}

function readyz({ readiness }: QueryService): Response {
  const { problem } = readiness;
  return problem === undefined
    ? jsonResponse({ status: "ready" })
    : jsonResponse({ status: "not_ready", error: problem }, { status: 503 });
}

async function methodNotAllowed(
  context: Context,
  allowed: readonly string[],
): Promise<Response> {
  await drainBody(context.req.raw);
  return errorResponse(
    new OperatingError(
      "method_not_allowed",
      `Cannot ${context.req.method} ${context.req.path}: use ${allowed.join(" or ")}`,
      { reason: "method_not_allowed" },
    ),
    // Hono answers HEAD wherever it answers GET.
    { allow: allowed.flatMap((one) => one === "GET" ? ["GET", "HEAD"] : [one]).join(", ") },
  );
}

/**
 * An unknown limit is told in plain text (docs/api/query.md#statuses), everything else in the JSON
 * envelope.
 */
function failure(error: unknown): Response {
  if (isOperatingError(error, "unprocessable")) {
    return new Response(`${error.message}\n`, {
      status: error.httpStatus,
      headers: { "content-type": "text/plain; charset=utf-8" },
    });
  }
  return errorResponse(error);
}

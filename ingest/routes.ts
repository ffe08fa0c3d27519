/**
 * Routes of the ingest server, and the one function that finds them.
 *
 * A request is matched on its method and path alone, without building a URL object: the hot route
 * costs two string comparisons.
 */

import { OperatingError } from "../shared/base/errors.ts";
import { drainBody } from "../shared/http/body.ts";
import { errorResponse, jsonResponse, metricsElsewhere } from "../shared/http/error_response.ts";
import type { Peer } from "./admission.ts";
import type { Clock } from "../shared/os/clock.ts";
import type { IngestMetrics } from "./metrics.ts";
import { otlpEncodingOf, otlpRefused } from "./otlp/otlp_reply.ts";

/** Values of the label `endpoint`. */
export type Endpoint =
  | "logs"
  | "traces"
  | "bulk"
  | "compat"
  | "stream"
  | "healthz"
  | "readyz"
  | "other";

export interface RouteMatch {
  readonly endpoint: Endpoint;
  /**
   * Answers its own operating errors in its own shape; anything else thrown becomes a native 500.
   */
  readonly handle: (
    request: Request,
    query: string,
    peer: Peer,
  ) => Response | Promise<Response>;
}

export interface Route extends RouteMatch {
  readonly method: "GET" | "POST";
  readonly path: string;
}

/** A surface that matches paths its own way; undefined for a path that is none of its business. */
export type FindRoute = (method: string, path: string) => RouteMatch | undefined;

export interface RouteHandlers {
  readonly logs: Route["handle"];
  readonly traces: Route["handle"];
  readonly stream: Route["handle"];
  readonly readyz: Route["handle"];
}

/** What a handler learns of the connection. */
export interface Connection {
  readonly remoteAddr: { readonly hostname: string };
}

/** The table, hottest first. */
export function ingestRoutes(handlers: RouteHandlers): readonly Route[] {
  return [
    { method: "POST", path: "/v1/logs", endpoint: "logs", handle: handlers.logs },
    { method: "POST", path: "/v1/traces", endpoint: "traces", handle: handlers.traces },
    { method: "GET", path: "/api/v1/stream", endpoint: "stream", handle: handlers.stream },
    {
      method: "GET",
      path: "/healthz",
      endpoint: "healthz",
      handle: () => jsonResponse({ status: "ok" }),
    },
    { method: "GET", path: "/readyz", endpoint: "readyz", handle: handlers.readyz },
  ];
}

export interface HandlerDeps {
  readonly metrics: Pick<IngestMetrics, "requests" | "requestSecs">;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Asked for paths that no route has. */
  readonly findOther?: FindRoute;
}

/**
 * A handler for `serve` that dispatches by `routes`, then by `findOther`, and counts answers.
 * `HEAD` is answered like `GET`.
 */
export function createHandler(
  routes: readonly Route[],
  { metrics, clock, findOther = () => undefined }: HandlerDeps,
): (request: Request, connection: Connection) => Promise<Response> {
  return async (request, connection) => {
    const startMs = clock.monotonicMs();
    const [path, query] = targetOf(request.url);
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = routes.find((known) => known.path === path && known.method === method) ??
      findOther(method, path);
    let response: Response;
    try {
      response = route === undefined
        ? await refuse(request, { path, routes })
        : await route.handle(request, query, () => connection.remoteAddr.hostname);
    } catch (thrown) {
      response = errorResponse(thrown);
    }
    const endpoint = route?.endpoint ?? "other";
    metrics.requests.add(1, { endpoint, status: String(response.status) });
    metrics.requestSecs.observe((clock.monotonicMs() - startMs) / 1_000, { endpoint });
    return response;
  };
}

/** Path and query text of an absolute URL: `http://host/path?query`. */
function targetOf(url: string): [path: string, query: string] {
  const pathAt = url.indexOf("/", url.indexOf("//") + 2);
  const queryAt = url.indexOf("?", pathAt);
  if (queryAt < 0) return [url.slice(pathAt), ""];
  return [url.slice(pathAt, queryAt), url.slice(queryAt + 1)];
}

/**
 * Where OTLP senders post each signal: below it they are answered as they read answers, also where
 * no route is.
 */
const OTLP_PREFIX = "/v1/";

async function refuse(
  request: Request,
  target: { path: string; routes: readonly Route[] },
): Promise<Response> {
  await drainBody(request);
  const { path, routes } = target;
  const methods = routes.filter((known) => known.path === path).map((known) => known.method);
  const headers: [string, string][] = methods.length === 0 ? [] : [["allow", methods.join(", ")]];
  const error = methods.length === 0 ? noRoute(target) : new OperatingError(
    "method_not_allowed",
    `cannot ${request.method} ${path}: it takes ${methods.join(", ")}`,
  );
  if (!path.startsWith(OTLP_PREFIX)) return errorResponse(error, headers);
  return otlpRefused(error, otlpEncodingOf(request.headers.get("content-type")) ?? "json", headers);
}

function noRoute({ path, routes }: { path: string; routes: readonly Route[] }): OperatingError {
  if (path === "/metrics") return metricsElsewhere("9100");
  const known = routes.map((route) => `${route.method} ${route.path}`).join(", ");
  return new OperatingError(
    "not_found",
    `there is no ${path} here: this server has ${known}, and bulk requests below ` +
      "/api/v1/_compat; SQL is the query server's (port 8089 unless told otherwise)",
  );
}

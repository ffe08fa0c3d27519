/**
 * The search-engine surface: what bulk clients ask before and beside `_bulk`, and where its reads went.
 *
 * Everything below `/api/v1/_compat` is answered here, unknown paths as well, because clients want to see the product's
 * header on each answer. The fingerprint, health, licence and read routes are at the root too.
 */

import { OperatingError } from "../shared/base/errors.ts";
import { drainBody } from "../shared/http/body.ts";
import type { Clock } from "../shared/os/clock.ts";
import type { Admission, Peer } from "./admission.ts";
import type { BulkTarget } from "./bulk/bulk_route.ts";
import { catHealth } from "./cat_health.ts";
import { CLUSTER_HEALTH, fingerprint, LICENSE } from "./compat_bodies.ts";
import { compatJson, compatRefused } from "./compat_reply.ts";
import type { Endpoint, RouteMatch } from "./routes.ts";

export const COMPAT_PREFIX = "/api/v1/_compat";

export interface CompatHandlers {
  readonly bulk: (request: Request, target: BulkTarget) => Promise<Response>;
  /** Throws when the caller may not talk to this server at all; `bulk` asks by itself. */
  readonly admission: Pick<Admission, "admit" | "identify">;
  /** `version.number` of the fingerprint. */
  readonly version: string;
  readonly clock: Pick<Clock, "nowMs">;
}

/** One subject of the surface; `path` is what follows the prefix. */
interface CompatRoute {
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** Also at the root, without the prefix. */
  readonly isAtRoot: boolean;
  readonly endpoint: Endpoint;
  /** What a request passes before its handler: the whole door, the door without its rate, or what the handler asks itself. */
  readonly door: "admit" | "identify" | "own";
  readonly handle: (
    request: Request,
    context: { query: string; peer: Peer; index: string | undefined },
  ) => Response | Promise<Response>;
}

const READ_METHODS = ["GET", "HEAD"];

/** The table; the first row that fits the path and the method wins. */
function compatTable({ bulk, version, clock }: CompatHandlers): readonly CompatRoute[] {
  const root = JSON.stringify(fingerprint(version));
  const read = {
    methods: READ_METHODS,
    isAtRoot: true,
    endpoint: "compat",
    door: "identify",
  } as const;
  return [
    {
      path: /^(?:\/([^/]+))?\/_bulk$/,
      methods: ["POST", "PUT"],
      isAtRoot: false,
      endpoint: "bulk",
      door: "own",
      handle: (request, { query, peer, index }) =>
        bulk(request, { query, peer, pathIndex: index && decoded(index) }),
    },
    { ...read, path: /^\/?$/, handle: (request) => compatJson(request, root) },
    {
      ...read,
      path: /^\/_cluster\/health$/,
      handle: (request) => compatJson(request, JSON.stringify(CLUSTER_HEALTH)),
    },
    {
      ...read,
      path: /^\/_license$/,
      handle: (request) => compatJson(request, JSON.stringify(LICENSE)),
    },
    {
      ...read,
      path: /^\/_cat\/health$/,
      handle: (request, { query }) => catHealth(request, query, clock.nowMs()),
    },
    {
      path: /^(?:\/[^/]+)?\/(?:_search|_msearch|_search\/scroll|_field_caps)$|^\/_cat(?:\/.*)?$/,
      methods: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"],
      isAtRoot: true,
      endpoint: "compat",
      door: "admit",
      handle: notServed,
    },
  ];
}

/** Finds the surface's routes by path; undefined for a path that is none of its business. */
export function compatRoutes(
  handlers: CompatHandlers,
): (method: string, path: string) => RouteMatch | undefined {
  const table = compatTable(handlers);
  return (method, path) => {
    const isPrefixed = path === COMPAT_PREFIX || path.startsWith(`${COMPAT_PREFIX}/`);
    const rest = isPrefixed ? path.slice(COMPAT_PREFIX.length) : path;
    const rows = table.filter((row) => (isPrefixed || row.isAtRoot) && row.path.test(rest));
    const row = rows.find(({ methods }) => methods.includes(method));
    if (row !== undefined) {
      const index = row.path.exec(rest)?.[1];
      return {
        endpoint: row.endpoint,
        handle: async (request, query, peer) => {
          try {
            if (row.door === "identify") await handlers.admission.identify(request.headers);
            if (row.door === "admit") await handlers.admission.admit(request.headers, peer);
            return await row.handle(request, { query, peer, index });
          } catch (thrown) {
            await drainBody(request);
            return compatRefused(request, thrown);
          }
        },
      };
    }
    if (!isPrefixed && rows.length === 0) return undefined;
    const allow = [...new Set(rows.flatMap(({ methods }) => methods))].join(", ");
    return { endpoint: "compat", handle: (request) => refuse(request, { path, allow }) };
  };
}

async function refuse(
  request: Request,
  { path, allow }: { path: string; allow: string },
): Promise<Response> {
  await drainBody(request);
  const { method } = request;
  if (allow === "") {
    const message =
      `there is no ${path} here: send documents to ${COMPAT_PREFIX}/_bulk, query with ` +
      "POST /api/v1/sql of the query server";
    return compatRefused(request, new OperatingError("not_found", message));
  }
  const error = new OperatingError(
    "method_not_allowed",
    `cannot ${method} ${path}: it takes ${allow}`,
  );
  return compatRefused(request, error, [["allow", allow]]);
}

function notServed(): Response {
  throw new OperatingError(
    "unimplemented",
    "search is not served here: send SQL to POST /api/v1/sql of the query server",
    { reason: "use_sql" },
  );
}

/** A name that is not well encoded stays as it is: as such it is no index name either. */
function decoded(index: string): string {
  try {
    return decodeURIComponent(index);
  } catch {
    return index;
  }
}

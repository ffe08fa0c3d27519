/**
 * The search-engine surface: documents, what their senders ask before and beside them, and where
 * its reads went.
 *
 * Everything below `/api/v1/_compat`, and what begins with an underscore at the root, is answered
 * here. That includes unknown paths, because clients want to see the product's header on each
 * response. What is asked is at the root too. What brings documents, and bare names of indexes, are
 * there with `--compat-at-root`.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { drainBody } from "../../shared/http/body.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Admission } from "../admission.ts";
import type { DocumentTarget } from "../bulk/document_route.ts";
import type { DocumentsTarget } from "../bulk/write_documents.ts";
import { catHealth } from "./cat_health.ts";
import { CLUSTER_HEALTH, FEATURES, fingerprint, LICENSE } from "./compat_bodies.ts";
import { type ClusterRouteDeps, clusterRoutes } from "./compat_cluster.ts";
import { type IndexRouteDeps, indexRoutes } from "./compat_indexes.ts";
import { type CountRouteDeps, countRoutes } from "./compat_count.ts";
import { objectRoutes } from "./compat_objects.ts";
import { compatJson, compatRefused } from "./compat_reply.ts";
import { ASKED, type CompatRoute, READ_METHODS } from "./compat_route.ts";
import type { RouteMatch } from "../routes.ts";

const COMPAT_PREFIX = "/api/v1/_compat";

export interface CompatHandlers extends ClusterRouteDeps, CountRouteDeps, IndexRouteDeps {
  readonly bulk: (request: Request, target: DocumentsTarget) => Promise<Response>;
  readonly document: (request: Request, target: DocumentTarget) => Promise<Response>;
  /**
   * Throws when the caller may not talk to this server at all; `bulk` and `document` ask by
   * themselves.
   */
  readonly admission: Pick<Admission, "admit" | "identify">;
  /** `--compat-at-root`. */
  readonly isAtRoot: boolean;
  readonly clock: Pick<Clock, "nowMs">;
}

/** The table; the first row that fits the path and the method wins. */
function compatTable(handlers: CompatHandlers): readonly CompatRoute[] {
  const { version, clock } = handlers;
  const root = JSON.stringify(fingerprint(version));
  return [
    ...documentRoutes(handlers),
    { ...ASKED, path: /^\/?$/, handle: (request) => compatJson(request, root) },
    {
      ...ASKED,
      path: /^\/_cluster\/health$/,
      handle: (request) => compatJson(request, JSON.stringify(CLUSTER_HEALTH)),
    },
    {
      ...ASKED,
      path: /^\/_license$/,
      handle: (request) => compatJson(request, JSON.stringify(LICENSE)),
    },
    {
      ...ASKED,
      path: /^\/_xpack$/,
      handle: (request) => compatJson(request, JSON.stringify(FEATURES)),
    },
    {
      ...ASKED,
      path: /^\/_cat\/health$/,
      handle: (request, { query }) => catHealth(request, query, clock.nowMs()),
    },
    ...clusterRoutes(handlers),
    ...objectRoutes(handlers),
    ...indexRoutes(handlers),
    ...countRoutes(handlers),
    {
      ...NOT_SERVED,
      path:
        /^(?:\/[^/]+)?\/(?:_search|_msearch|_search\/scroll|_field_caps|_count|_mget)$|^\/_cat(?:\/.*)?$/,
      methods: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"],
    },
    { ...NOT_SERVED, path: /^\/[^/]+\/(?:_doc|_source)\/[^/]+$/, methods: READ_METHODS },
  ];
}

const NOT_SERVED = {
  atRoot: "always",
  endpoint: "compat",
  access: "admit",
  handle: notServed,
} as const;

function documentRoutes({ bulk, document }: CompatHandlers): CompatRoute[] {
  const brings = { atRoot: "option", endpoint: "bulk", access: "own" } as const;
  const both = ["PUT", "POST"];
  const one = (row: Pick<CompatRoute, "path" | "methods">, isCreate: boolean): CompatRoute => ({
    ...brings,
    ...row,
    handle: (request, { query, peer, names: [pathIndex, id] }) => {
      const isCreated = isCreate || new URLSearchParams(query).get("op_type") === "create";
      const action = isCreated ? "create" : "index";
      return document(request, { query, peer, pathIndex, id, action });
    },
  });
  return [
    {
      ...brings,
      path: /^(?:\/([^/]+))?\/_bulk$/,
      methods: both,
      handle: (request, { query, peer, names: [pathIndex] }) =>
        bulk(request, { query, peer, pathIndex }),
    },
    one({ path: /^\/([^/]+)\/_doc$/, methods: ["POST"] }, false),
    one({ path: /^\/([^/]+)\/_doc\/([^/]+)$/, methods: both }, false),
    one({ path: /^\/([^/]+)\/_create\/([^/]+)$/, methods: both }, true),
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
    if (!isPrefixed && NATIVE.test(rest)) return undefined;
    const fitting = table.filter((row) => row.path.test(rest));
    const rows = isPrefixed || handlers.isAtRoot
      ? fitting
      : fitting.filter(({ atRoot }) => atRoot === "always");
    const row = rows.find(({ methods }) => methods.includes(method));
    if (row !== undefined) return matched(row, rest, handlers);
    // A sender of documents to the root is told where they are taken.
    const isHidden = rows.length < fitting.length && fitting.some(({ access }) => access === "own");
    if (!isPrefixed && rows.length === 0 && !isHidden && !path.startsWith("/_")) return undefined;
    const allow = isHidden ? "" : [...new Set(rows.flatMap(({ methods }) => methods))].join(", ");
    return { endpoint: "compat", handle: (request) => refuse(request, { path, allow }) };
  };
}

/** Paths at the root that other routes have, and none that an index of such a name shadows. */
const NATIVE = /^\/(?:api|v1|healthz|readyz|metrics)(?:\/|$)/;

function matched(row: CompatRoute, path: string, { admission }: CompatHandlers): RouteMatch {
  return {
    endpoint: row.endpoint,
    handle: async (request, query, peer) => {
      try {
        const tenant = row.access === "own"
          ? ""
          : row.access === "admit"
          ? await admission.admit(request.headers, peer)
          : await admission.identify(request.headers);
        const names = (row.path.exec(path) ?? []).slice(1).map((name) => name && decoded(name));
        return await row.handle(request, { query, peer, names, tenant });
      } catch (thrown) {
        await drainBody(request);
        return compatRefused(request, thrown);
      }
    },
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
      `there is no ${path} here: send documents to ${COMPAT_PREFIX}/_bulk (or start the server with ` +
      "--compat-at-root), query with POST /api/v1/sql of the query server";
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
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * `_count` of the search-engine surface. The ingest server reads no tables, so it asks the query
 * server that `--query-url` names, with the caller's own credentials. Rows count from their
 * acknowledgement on.
 *
 * Only whole indexes are counted: a query other than `match_all` is refused, never ignored.
 */

import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { withDeadline } from "../../shared/base/with_deadline.ts";
import { readResponseText } from "../../shared/http/response_text.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { tableOf } from "../../shared/tenant/tenant.ts";
import { indexNameFault } from "../index_name.ts";
import { readObject } from "./compat_body.ts";
import { type IndexRouteDeps, isKnown, noIndex } from "./compat_indexes.ts";
import { compatJson } from "./compat_reply.ts";
import type { CompatRoute } from "./compat_route.ts";
import { resolvedName } from "./date_math_name.ts";
import { isJsonObject, type JsonObject } from "../../shared/document/json_object.ts";

export interface CountRouteDeps extends IndexRouteDeps {
  /** Base URL of the query server; undefined: `_count` is not served. */
  readonly queryUrl: string | undefined;
}

/** Names in one request. */
const NAMES_MAX = 64;
const ANSWER_MS_MAX = 30_000;
/** One row of one number, or an error. What answers more is no query server. */
const ANSWER_BYTES_MAX = 64 * 1024;
const RETRY_AFTER_SECS = 2;

/** The route, where a query server is named. */
export function countRoutes(deps: CountRouteDeps): CompatRoute[] {
  const { queryUrl } = deps;
  if (queryUrl === undefined) return [];
  return [{
    path: /^(?:\/([^/]+))?\/_count$/,
    methods: ["GET", "HEAD", "POST"],
    atRoot: "always",
    endpoint: "compat",
    access: "admit",
    handle: (request, { query, tenant, names: [written] }) =>
      counted(request, { query, tenant, written, deps: { ...deps, queryUrl } }),
  }];
}

interface CountOptions {
  readonly query: string;
  readonly tenant: string;
  /** Names in the path, as the client wrote them. */
  readonly written: string | undefined;
  readonly deps: CountRouteDeps & { readonly queryUrl: string };
}

async function counted(
  request: Request,
  { query, tenant, written, deps }: CountOptions,
): Promise<Response> {
  const { bodies } = deps;
  const body = await readObject(request, { tenant, bodies, what: "the body of _count" });
  requireMatchAll(body, new URLSearchParams(query));
  const indexes = indexesOf(written, deps.clock.nowMs());
  const missing = indexes.find((index) => !isKnown(tenant, index, deps));
  if (missing !== undefined) return noIndex(request, missing);
  // An index that was put has no table before its first row.
  const filled = indexes.filter((index) => deps.hasIndex({ tenant, index }));
  const count = filled.length === 0
    ? 0
    : await askCount(request, { tenant, indexes: filled, queryUrl: deps.queryUrl });
  const shards = { total: 1, successful: 1, skipped: 0, failed: 0 };
  return compatJson(request, JSON.stringify({ count, _shards: shards }));
}

/** Each name once: the same index named twice has its rows once. */
function indexesOf(written: string | undefined, nowMs: number): string[] {
  if (written === undefined) {
    throw refused("every index at once", "name the index: /<index>/_count");
  }
  const parts = written.split(",");
  if (parts.length > NAMES_MAX) {
    throw refused(`${parts.length} indexes`, `name at most ${NAMES_MAX}`);
  }
  const names = parts.map((part) => resolvedName(part, nowMs));
  for (const name of names) {
    const fault = indexNameFault(name);
    if (fault !== undefined) throw refused(`[${name.slice(0, 140)}]`, `the name ${fault}`);
  }
  return [...new Set(names)];
}

function requireMatchAll(body: JsonObject | undefined, query: URLSearchParams): void {
  const words = query.get("q");
  if (words !== null && words !== "*" && words !== "*:*") {
    throw refused(`by q=${words.slice(0, 140)}`, useSql());
  }
  for (const member of Object.keys(body ?? {})) {
    if (member !== "query") throw refused(`with ${JSON.stringify(member.slice(0, 140))}`, useSql());
  }
  const asked = body?.query;
  if (asked === undefined || isJsonObject(asked) && isMatchAll(asked)) return;
  throw refused("by a query other than match_all", useSql());
}

function isMatchAll(query: JsonObject): boolean {
  const kinds = Object.keys(query);
  return kinds.length === 1 && kinds[0] === "match_all";
}

function useSql(): string {
  return "send SELECT count(*) … WHERE … to POST /api/v1/sql of the query server";
}

/** Rows of all `indexes` together. Errors: those that the query server tells, and `unavailable`. */
async function askCount(
  request: Request,
  { tenant, indexes, queryUrl }: {
    readonly tenant: string;
    readonly indexes: readonly string[];
    readonly queryUrl: string;
  },
): Promise<number> {
  const counts = indexes.map((index) => {
    const { namespace, name } = tableOf({ tenant, index });
    return `(SELECT count(*) FROM ${quoteName(namespace)}.${quoteName(name)})`;
  });
  const headers = new Headers({ "content-type": "application/json" });
  const authorization = request.headers.get("authorization");
  if (authorization !== null) headers.set("authorization", authorization);
  const ask = {
    method: "POST",
    headers,
    body: JSON.stringify({ query: `SELECT ${counts.join(" + ")} AS n` }),
    redirect: "error",
  } as const;
  const what = `the query server at ${queryUrl} (--query-url) did not count`;
  return await withDeadline({ msMax: ANSWER_MS_MAX, what }, async (late) => {
    const { signal } = late;
    const response = await fetch(new URL("/api/v1/sql", queryUrl), { ...ask, signal })
      .catch((cause) => {
        throw away(`cannot reach the query server at ${queryUrl} (--query-url)`, { cause });
      });
    return countOf(await answerOf(response, queryUrl), response.status);
  });
}

async function answerOf(response: Response, queryUrl: string): Promise<unknown> {
  const url = `the answer of ${queryUrl}`;
  const text = await readResponseText(response, { url, bytesMax: ANSWER_BYTES_MAX })
    .catch((cause) => {
      throw away(`cannot read what ${queryUrl} (--query-url) answered: ${messageOf(cause)}`, {
        cause,
      });
    });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw away(`the query server answered ${response.status} without JSON`, { cause });
  }
}

function countOf(answer: unknown, status: number): number {
  const { rows, error, reason } = isJsonObject(answer) ? answer : {};
  const [row] = Array.isArray(rows) ? rows : [];
  const [count] = Array.isArray(row) ? row : [];
  if (status === 200 && typeof count === "number") return count;
  const message = `the query server refused to count (${status}): ${String(error)}`;
  // It reads no WAL here, and no row of the index is committed yet.
  if (reason === "unknown_table") throw away(message);
  if (status === 401) throw new OperatingError("unauthenticated", message);
  if (status === 403) throw new OperatingError("permission_denied", message);
  if (status === 400 || status === 422) throw new OperatingError("invalid_argument", message);
  if (status === 429) {
    throw new OperatingError("rate_limited", message, { retryAfterSecs: RETRY_AFTER_SECS });
  }
  throw away(message);
}

function refused(what: string, remedy: string): OperatingError {
  return new OperatingError("invalid_argument", `cannot count ${what}: ${remedy}`, {
    reason: "use_sql",
  });
}

function away(message: string, options: { cause?: unknown } = {}): OperatingError {
  return new OperatingError("unavailable", `${message}: try again`, {
    ...options,
    reason: "query_server_away",
    retryAfterSecs: RETRY_AFTER_SECS,
  });
}

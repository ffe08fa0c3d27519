/**
 * `/iceberg/v1/…`: Iceberg's REST catalog for other engines (README.md). Source: the
 * OpenAPI document of the Iceberg project.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import type { ByteBudget } from "../../shared/base/byte_budget.ts";
import { type ErrorCode, OperatingError } from "../../shared/base/errors.ts";
import { drainBody } from "../../shared/http/body.ts";
import { asOperatingError, errorHeaders, jsonResponse } from "../../shared/http/error_response.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import { readJsonText } from "../json_body.ts";
import type { QueryCaller } from "../query_caller.ts";
import { growAnswer, heldAnswer } from "../sql/held_answer.ts";
import { parseCommit } from "./commit_request.ts";
import { isHidden, noSuchTable, type RestCatalog } from "./rest_catalog.ts";
import type { RestCommits } from "./rest_commits.ts";

export interface RestCatalogService {
  readonly icebergCatalog: RestCatalog;
  /** Takes commits; undefined: the catalog is read-only. */
  readonly icebergCommits: Pick<RestCommits, "commit"> | undefined;
  /** Room of answers that are held until they are sent. */
  readonly answers: ByteBudget;
}

/** Who asks, and the names in the path: `namespace` and `table`, where it has them. */
export interface RestAddress {
  readonly caller: QueryCaller;
  readonly names: Readonly<Record<string, string>>;
}

export interface RestRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Never rejects: an error is an answer in the protocol's form. GET answers HEAD, too. */
  answer(request: Request, service: RestCatalogService, address: RestAddress): Promise<Response>;
  /** An error from before the route, in the protocol's form. */
  failed(thrown: unknown): Response;
}

/** Below it every request is answered in the protocol's form. */
export const REST_PREFIX = "/iceberg";

const NAMESPACES = "/v1/namespaces";
const NAMESPACE = `${NAMESPACES}/:namespace`;
const TABLES = `${NAMESPACE}/tables`;
const VIEWS = `${NAMESPACE}/views`;
const TABLE = `${TABLES}/:table`;
/** Names of a page at most, also where none is asked for. */
const NAMES_MAX = 10_000;
/** Bytes of a commit. */
const COMMIT_BYTES_MAX = 8 * 1024 * 1024;

type Answer = RestRoute["answer"];

const ANSWERS: readonly (readonly [method: RestRoute["method"], path: string, answer: Answer])[] = [
  ["GET", "/v1/config", config],
  ["GET", NAMESPACES, listNamespaces],
  ["GET", NAMESPACE, loadNamespace],
  ["GET", TABLES, listTables],
  ["GET", TABLE, loadTable],
  ["POST", TABLE, commitTable],
  ["POST", `${TABLE}/metrics`, takeReport],
  ["GET", VIEWS, listViews],
  ["GET", `${VIEWS}/:view`, loadView],
];

export const REST_ROUTES: readonly RestRoute[] = ANSWERS.map(([method, path, answer]) => ({
  method,
  path: REST_PREFIX + path,
  answer: async (request, service, address) => {
    try {
      return await answer(request, service, address);
    } catch (error) {
      return restError(error);
    }
  },
  failed: restError,
}));

/** The routes as the protocol writes them, so that clients do not try others. */
const ENDPOINTS: readonly string[] = ANSWERS.flatMap(([method, path]) => {
  if (path === "/v1/config") return [];
  const written = path.replace("/v1/", "/v1/{prefix}/").replaceAll(/:(\w+)/g, "{$1}");
  const isOne = method === "GET" && written.endsWith("}");
  return [`${method} ${written}`, ...isOne ? [`HEAD ${written}`] : []];
});
const COMMIT_ENDPOINT = "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}";

/** Clients ask here for tokens, and for newer ones, unless they are told of another place. */
const TOKENS_PATH = `${REST_PREFIX}/v1/oauth/tokens`;

/** Answers what no route has: every write, tokens, and mistakes in an address. */
export async function refuseRest(request: Request): Promise<Response> {
  await drainBody(request);
  const { method, url } = request;
  const { pathname } = new URL(url);
  if (pathname === TOKENS_PATH) {
    // In the form of OAuth, whose names for what went wrong are few.
    return jsonResponse({
      error: "unsupported_grant_type",
      error_description: "Cannot give out tokens: they come from the identity provider. Set the " +
        "client's oauth2-server-uri to its token endpoint, or give a token and " +
        "token-refresh-enabled=false",
    }, { status: 400 });
  }
  if (method === "GET" || method === "HEAD") {
    return restError(
      new OperatingError(
        "not_found",
        `Cannot ${method} ${pathname}: this catalog has namespaces and tables, and no functions`,
        { reason: "unknown_route" },
      ),
    );
  }
  return restError(readOnly(`${method} ${pathname}`));
}

function readOnly(what: string): OperatingError {
  return new OperatingError(
    "permission_denied",
    `Cannot ${what}: tables are made by the ingest server, and commits to them are taken with ` +
      "--iceberg-writes; send rows to the ingest server, and delete with POST /api/v1/delete-tasks",
    { reason: "read_only_catalog" },
  );
}

/** An error in the protocol's form, with the headers that errors of all routes have. */
function restError(thrown: unknown): Response {
  const error = asOperatingError(thrown);
  const { message, reason } = error;
  const code = STATUS_OF_REASONS[reason ?? ""] ?? error.httpStatus;
  const type = TYPES_OF_REASONS[reason ?? ""] ?? TYPES[error.code] ?? "ServerErrorException";
  return jsonResponse({ error: { message, type, code } }, {
    status: code,
    headers: errorHeaders(error),
  });
}

/** The classes that Iceberg's clients throw, by our codes. */
const TYPES: Partial<Record<ErrorCode, string>> = {
  invalid_argument: "BadRequestException",
  unauthenticated: "NotAuthorizedException",
  permission_denied: "ForbiddenException",
  not_found: "NotFoundException",
  conflict: "CommitFailedException",
  method_not_allowed: "UnsupportedOperationException",
  rate_limited: "SlowDownException",
  unavailable: "ServiceUnavailableException",
};

const TYPES_OF_REASONS: Readonly<Record<string, string>> = {
  no_such_namespace: "NoSuchNamespaceException",
  no_such_table: "NoSuchTableException",
  no_such_view: "NoSuchViewException",
  commit_unknown: "CommitStateUnknownException",
  commit_contention: "CommitFailedException",
};

/** Clients take these for what they are by the status alone. */
const STATUS_OF_REASONS: Readonly<Record<string, number>> = {
  commit_unknown: 500,
  commit_contention: 409,
};

function config(_: Request, { icebergCommits }: RestCatalogService): Promise<Response> {
  const endpoints = icebergCommits === undefined
    ? ENDPOINTS.filter((one) => one !== COMMIT_ENDPOINT)
    : ENDPOINTS;
  return Promise.resolve(jsonResponse({ defaults: {}, overrides: {}, endpoints }));
}

function listNamespaces(
  request: Request,
  _: RestCatalogService,
  { caller }: RestAddress,
): Promise<Response> {
  const parent = new URL(request.url).searchParams.get("parent");
  if (parent !== null && parent !== "") {
    requireNamespace(parent, caller);
    // Namespaces have no others in them.
    return Promise.resolve(jsonResponse({ namespaces: [] }));
  }
  return Promise.resolve(jsonResponse({ namespaces: [[caller.namespace]] }));
}

function loadNamespace(
  _request: Request,
  _: RestCatalogService,
  { caller, names }: RestAddress,
): Promise<Response> {
  const namespace = requireNamespace(names["namespace"], caller);
  return Promise.resolve(jsonResponse({ namespace: [namespace], properties: {} }));
}

async function listTables(
  request: Request,
  { icebergCatalog }: RestCatalogService,
  { caller, names }: RestAddress,
): Promise<Response> {
  const namespace = requireNamespace(names["namespace"], caller);
  const { searchParams } = new URL(request.url);
  const page = await icebergCatalog.names(caller, {
    after: searchParams.get("pageToken") ?? "",
    namesMax: pageSize(searchParams.get("pageSize")),
  });
  return jsonResponse({
    identifiers: page.names.map((name) => ({ namespace: [namespace], name })),
    "next-page-token": page.next ?? null,
  });
}

/** There are none. Clients before 1.7 ask without looking at the list of endpoints. */
function listViews(
  _request: Request,
  _: RestCatalogService,
  { caller, names }: RestAddress,
): Promise<Response> {
  requireNamespace(names["namespace"], caller);
  return Promise.resolve(jsonResponse({ identifiers: [], "next-page-token": null }));
}

function loadView(
  _request: Request,
  _: RestCatalogService,
  { names }: RestAddress,
): Promise<Response> {
  const view = `${names["namespace"]}.${names["view"]}`;
  throw new OperatingError(
    "not_found",
    `Cannot load view ${JSON.stringify(view)}: this catalog has tables alone`,
    { reason: "no_such_view" },
  );
}

async function loadTable(
  request: Request,
  service: RestCatalogService,
  address: RestAddress,
): Promise<Response> {
  const ident = requireTable(address);
  if (request.method === "HEAD") {
    if (!await service.icebergCatalog.has(ident)) throw noSuchTable(ident);
    return new Response(null, { status: 204 });
  }
  const asked = { wantsCredentials: wantsCredentials(request) };
  return await tableAnswer(service, ident, { ...asked, owner: address.caller.tenant });
}

/** Clients list the ways in which they may be let at the files. */
function wantsCredentials({ headers }: Request): boolean {
  const ways = headers.get("x-iceberg-access-delegation") ?? "";
  return ways.split(",").some((way) => way.trim() === "vended-credentials");
}

/** The stored file goes out as it is: ids of snapshots have more digits than a number keeps. */
async function tableAnswer(
  { icebergCatalog, answers }: RestCatalogService,
  ident: TableIdent,
  asked: { readonly wantsCredentials: boolean; readonly owner: string },
): Promise<Response> {
  const hold = answers.hold(asked.owner);
  try {
    const { location, bytes } = await icebergCatalog.metadata(
      ident,
      (bytes) => growAnswer(hold, bytes),
    );
    const { config, credentials } = await icebergCatalog.properties({ location }, asked);
    const vended = credentials.length > 0
      ? `,"storage-credentials":${JSON.stringify(credentials)}`
      : "";
    const parts = [
      utf8(`{"metadata-location":${JSON.stringify(location)},"metadata":`),
      bytes,
      utf8(`,"config":${JSON.stringify(config)}${vended}}`),
    ];
    return heldAnswer(parts, hold);
  } catch (error) {
    hold[Symbol.dispose]();
    throw error;
  }
}

async function commitTable(
  request: Request,
  service: RestCatalogService,
  address: RestAddress,
): Promise<Response> {
  const { icebergCommits, answers } = service;
  const owner = address.caller.tenant;
  if (icebergCommits === undefined) {
    await drainBody(request);
    throw readOnly(`commit to ${address.names["table"]}`);
  }
  let ident: TableIdent;
  try {
    ident = requireTable(address);
  } catch (error) {
    await drainBody(request);
    throw error;
  }
  {
    using hold = answers.hold(owner);
    const body = await readJsonText(request, { bytesMax: COMMIT_BYTES_MAX, hold });
    await icebergCommits.commit(ident, parseCommit(body));
  }
  // It took effect: nothing that asks another service may fail it now.
  return await tableAnswer(service, ident, { wantsCredentials: false, owner });
}

/**
 * Clients ask for `events.snapshots` as a table of a namespace `svc.events`, and make it of
 * `svc.events` only where the table is what is missing.
 */
function requireTable({ caller, names }: RestAddress): TableIdent {
  const ident = { namespace: names["namespace"] ?? "", name: names["table"] ?? "" };
  const isTheirs = ident.namespace === caller.namespace && !isHidden(ident.name, caller);
  if (!isTheirs) throw noSuchTable(ident);
  return ident;
}

async function takeReport(
  request: Request,
  _: RestCatalogService,
  { caller, names }: RestAddress,
): Promise<Response> {
  await drainBody(request);
  requireNamespace(names["namespace"], caller);
  return new Response(null, { status: 204 });
}

function requireNamespace(namespace: string | undefined, caller: QueryCaller): string {
  if (namespace === caller.namespace) return namespace;
  throw new OperatingError(
    "not_found",
    `Cannot look into namespace ${JSON.stringify(namespace)}: yours is ${caller.namespace}`,
    { reason: "no_such_namespace" },
  );
}

function pageSize(text: string | null): number {
  if (text === null || text === "") return NAMES_MAX;
  if (/^[1-9]\d{0,8}$/.test(text)) return Math.min(Number(text), NAMES_MAX);
  throw new OperatingError(
    "invalid_argument",
    `Cannot list with pageSize ${JSON.stringify(text)}: give a whole number from 1 on`,
  );
}

/**
 * A handler behind the rules for browsers (`browser_rules.ts`): what the rules refuse never reaches
 * it, and pages of allowed origins may read its answers (CORS, by the Fetch standard).
 *
 * Stands around every listener's handler, so that no route can be forgotten. Without header fields
 * of browsers it costs two look-ups, three where names are checked.
 */

import { getLogger } from "@logtape/logtape";
import type { OperatingError } from "../base/errors.ts";
import { drainBody } from "./body.ts";
import { type BrowserRules, judgeSource } from "./browser_rules.ts";
import { errorResponse } from "./error_response.ts";

type Answer<I> = (request: Request, info: I) => Response | Promise<Response>;

/** Methods of any route: a path refuses those that it does not take by its own 405. */
const METHODS = "GET, HEAD, POST, PUT, DELETE";
/** Response headers that a page may read, besides those that every page may read. */
const EXPOSED = "retry-after, etag, location, x-svc-server-micros, x-elastic-product";
/** The longest that Chromium keeps a preflight's answer. */
const PREFLIGHT_SECS = "7200";
const ASKED_HEADERS_CHARS_MAX = 2_048;

export interface GuardOptions {
  /** Whether a link of another site may lead a browser there: to a page, which asks for itself. */
  readonly mayVisit?: (request: Request) => boolean;
}

/** `handler` for requests that `rules` let pass. */
export function guardOrigin<I>(
  handler: Answer<I>,
  rules: BrowserRules,
  { mayVisit = () => false }: GuardOptions = {},
): Answer<I> {
  const isShared = rules.origins.size > 0;
  return (request, info) => {
    const { headers } = request;
    const verdict = judgeSource({
      origin: headers.get("origin"),
      site: siteOf(request, mayVisit),
      host: () => headers.get("host") ?? authorityOf(request.url),
      isSecure: () => request.url.startsWith("https:"),
    }, rules);
    if (verdict.kind === "refused") return refuse(request, verdict.error, isShared);
    if (!isShared) return handler(request, info);
    const origin = verdict.kind === "shared" ? verdict.origin : undefined;
    if (origin !== undefined && isPreflight(request)) return allow(request, origin);
    return answerShared(handler(request, info), origin);
  };
}

/** `Sec-Fetch-Site`; a visit that is welcome counts as one by the address bar. */
function siteOf(request: Request, mayVisit: (request: Request) => boolean): string | null {
  const { headers, method } = request;
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none") return site;
  const isVisit = method === "GET" && headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document";
  return isVisit && mayVisit(request) ? "none" : site;
}

/** Host and port of an absolute URL. */
function authorityOf(url: string): string {
  const from = url.indexOf("//") + 2;
  const to = url.indexOf("/", from);
  return to < 0 ? url.slice(from) : url.slice(from, to);
}

/** Read to its end, within bounds, so that its sender sees the status and not a reset. */
async function refuse(
  request: Request,
  error: OperatingError,
  isShared: boolean,
): Promise<Response> {
  tellRefused(error);
  await drainBody(request);
  return errorResponse(error, isShared ? VARY : {});
}

/**
 * Somebody may look for why a page of theirs is refused, which the browser hides from it. The log
 * bounds repeats.
 */
export function tellRefused(error: OperatingError): void {
  getLogger(["svc", "http"]).warn("refused what a browser sent: {why}", { why: error.message });
}

const VARY = { vary: "Origin" };

async function answerShared(
  answer: Response | Promise<Response>,
  origin: string | undefined,
): Promise<Response> {
  const response = await answer;
  response.headers.append("vary", "Origin");
  if (origin === undefined) return response;
  for (const [name, value] of sharedWith(origin)) response.headers.set(name, value);
  response.headers.set("access-control-expose-headers", EXPOSED);
  return response;
}

function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.get("access-control-request-method") !== null;
}

function allow({ headers }: Request, origin: string): Response {
  const asked = headers.get("access-control-request-headers") ?? "";
  // What a page may say is decided by its origin alone: exporters have fields of their users'
  // choice.
  const mayAsk = asked !== "" && asked.length <= ASKED_HEADERS_CHARS_MAX;
  return new Response(null, {
    status: 204,
    headers: [
      ...sharedWith(origin),
      ["access-control-allow-methods", METHODS],
      ...(mayAsk ? [["access-control-allow-headers", asked] as [string, string]] : []),
      ["access-control-max-age", PREFLIGHT_SECS],
      ["vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"],
    ],
  });
}

/**
 * `sendBeacon`, which pages send their last telemetry with, always asks with credentials. There are
 * none that browsers would add by themselves here, and the origin is one that was listed, never
 * `*`.
 */
function sharedWith(origin: string): [string, string][] {
  return [
    ["access-control-allow-origin", origin],
    ["access-control-allow-credentials", "true"],
  ];
}

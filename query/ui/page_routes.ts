/**
 * The page for browsers at `/ui/`, to anybody: it holds nothing but itself, and asks the API as any
 * other client does. `/` leads a browser there.
 */

import type { Hono } from "hono";
import { OperatingError } from "../../shared/base/errors.ts";
import { errorResponse, jsonResponse } from "../../shared/http/error_response.ts";
import { pulledResponse } from "../../shared/http/pulled_response.ts";
import { wantedCoding } from "../../shared/http1/wanted_coding.ts";
import type { PageConfig } from "./page_config.ts";
import { PAGE_DOCUMENT, type PageFiles } from "./page_files.ts";

/** The page, and what it is told. */
export interface ServedPage {
  readonly files: PageFiles;
  readonly config: PageConfig;
}

/**
 * What the page may load and ask: this server, and the issuer that signs people in. No script
 * stands in the page's text, and nobody else's page may hold this one.
 */
function contentSecurityPolicy({ oidc }: PageConfig): string {
  const issuer = oidc === undefined ? "" : ` ${new URL(oidc.issuer).origin}`;
  return [
    "default-src 'none'",
    // Local tables are DuckDB's WebAssembly in a worker: web/local/. It allows no eval of texts.
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    "style-src 'self'",
    `connect-src 'self'${issuer}`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Names of other files hold a hash of their bytes. */
const FOREVER = "public, max-age=31536000, immutable";

/** Whether a link of any site may lead a browser to `path`: the page's document, and its files. */
export function isPagePath(path: string): boolean {
  return /^\/(?:ui(?:\/[^/]*)?)?$/.test(path);
}

/** Adds the page's routes to `app`; undefined: `--no-ui`. */
export function addPage<Bindings extends object>(
  app: Hono<{ Bindings: Bindings }>,
  page: ServedPage | undefined,
): void {
  if (page === undefined) return;
  const { config } = page;
  app.get("/ui", ({ req }) => redirect(req.raw, "ui/"));
  app.get("/ui/", ({ req }) => fileResponse(page, PAGE_DOCUMENT, req.raw));
  app.get("/ui/config.json", () =>
    jsonResponse(config, {
      headers: { ...headersOf(config), "cache-control": "no-cache" },
    }));
  // A name without an ending is one of the document's own pages, such as /ui/sql.
  app.get("/ui/:name", ({ req }) => {
    const name = req.param("name");
    return fileResponse(page, name.includes(".") ? name : PAGE_DOCUMENT, req.raw);
  });
  app.get("/", (context) => {
    const isBrowser = context.req.header("accept")?.includes("text/html") ?? false;
    return isBrowser ? redirect(context.req.raw, "ui/") : context.notFound();
  });
}

/** Leads on relatively, since a proxy may put a path before it: `/logs` goes to `logs/ui/`. */
function redirect({ url }: Request, to: string): Response {
  const last = new URL(url).pathname.split("/").at(-1) ?? "";
  const before = last === "" || last === "ui" ? "" : `${last}/`;
  return new Response(null, { status: 302, headers: { location: before + to } });
}

function headersOf(config: PageConfig) {
  return {
    "content-security-policy": contentSecurityPolicy(config),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
}

function fileResponse(
  { files, config }: ServedPage,
  name: string,
  { headers }: Request,
): Response {
  const file = files.get(name);
  if (file === undefined) return errorResponse(missing(files, name));
  const isPlain = wantedCoding(headers.get("accept-encoding")) === "plain";
  const packed = isPlain ? undefined : file.packed;
  return pulledResponse((packed ?? file.pieces)(), {
    headers: {
      ...headersOf(config),
      "content-type": file.contentType,
      "cache-control": name === PAGE_DOCUMENT ? "no-cache" : FOREVER,
      ...(file.packed === undefined ? {} : { vary: "accept-encoding" }),
      ...(packed === undefined ? {} : { "content-encoding": "gzip" }),
    },
  });
}

function missing(files: PageFiles, name: string): OperatingError {
  const why = files.size === 0
    ? "the page is not built here; run deno task web and start the server again"
    : "the page has no such file; open /ui/";
  return new OperatingError("not_found", `Cannot show ${name}: ${why}`, { reason: "no_such_file" });
}

/**
 * The page for browsers at `/ui/`, to anybody: it holds nothing but itself, and asks the API as any
 * other client does. `/` leads a browser there.
 */

import type { Hono } from "hono";
import { OperatingError } from "../../shared/base/errors.ts";
import { errorResponse } from "../../shared/http/error_response.ts";
import { PAGE_DOCUMENT, type PageFiles } from "./page_files.ts";

/**
 * What the page may load and ask: this server alone. No script stands in the page's text, and
 * nobody else's page may hold this one.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

/** Names of other files hold a hash of their bytes. */
const FOREVER = "public, max-age=31536000, immutable";

/** Adds the page's routes to `app`; undefined: `--no-ui`. */
export function addPage<Bindings extends object>(
  app: Hono<{ Bindings: Bindings }>,
  files: PageFiles | undefined,
): void {
  if (files === undefined) return;
  // Relative, so that a proxy may put a path before it.
  app.get("/ui", () => redirect("ui/"));
  app.get("/ui/", ({ req }) => fileResponse(files, PAGE_DOCUMENT, req));
  // A name without an ending is one of the document's own pages, such as /ui/sql.
  app.get("/ui/:name", ({ req }) => {
    const name = req.param("name");
    return fileResponse(files, name.includes(".") ? name : PAGE_DOCUMENT, req);
  });
  app.get("/", (context) => {
    const isBrowser = context.req.header("accept")?.includes("text/html") ?? false;
    return isBrowser ? redirect("ui/") : context.notFound();
  });
}

function redirect(to: string): Response {
  return new Response(null, { status: 302, headers: { location: to } });
}

async function fileResponse(
  files: PageFiles,
  name: string,
  { raw: { headers } }: { readonly raw: Request },
): Promise<Response> {
  const file = files.get(name);
  if (file === undefined) return errorResponse(missing(files, name));
  const bytes = await file.read();
  const takesPacked = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s|,|$))/.test(
    headers.get("accept-encoding") ?? "",
  );
  const body = file.isPacked && !takesPacked
    ? new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))
    : bytes;
  return new Response(body, {
    headers: {
      ...HEADERS,
      "content-type": file.contentType,
      "cache-control": name === PAGE_DOCUMENT ? "no-cache" : FOREVER,
      ...(file.isPacked ? { vary: "accept-encoding" } : {}),
      ...(file.isPacked && takesPacked ? { "content-encoding": "gzip" } : {}),
    },
  });
}

function missing(files: PageFiles, name: string): OperatingError {
  const why = files.size === 0
    ? "the page is not built here; run deno task web and start the server again"
    : "the page has no such file; open /ui/";
  return new OperatingError("not_found", `Cannot show ${name}: ${why}`, { reason: "no_such_file" });
}

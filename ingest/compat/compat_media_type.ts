/**
 * Media types of the search-engine surface: plain JSON, NDJSON, and the vendor forms that official
 * clients send and want back (docs/clients.md#official-search-engine-clients).
 */

import { OperatingError } from "../../shared/base/errors.ts";

/** Subtypes that vendor forms end with, and plain types. */
const BODY_TYPES: ReadonlySet<string> = new Set([
  "application/json",
  "application/x-ndjson",
  "application/ndjson",
]);
const VENDOR_TYPE = /^application\/vnd\.(elasticsearch|opensearch)\+(json|x-ndjson)$/;
const VERSIONS: ReadonlySet<string> = new Set(["8", "9"]);

interface MediaType {
  readonly type: string;
  /** The vendor of a vendor type: `elasticsearch` or `opensearch`. */
  readonly vendor: string | undefined;
  /** Parameter `compatible-with`. */
  readonly version: string | undefined;
}

/**
 * Errors: `unsupported_media_type` for a body that is neither JSON nor NDJSON; `what` begins its
 * text: "a bulk request".
 */
export function requireJsonType(contentType: string | null, what: string): void {
  if (contentType !== null) {
    const { type, vendor, version } = mediaTypeOf(contentType);
    if (BODY_TYPES.has(type)) return;
    if (vendor !== undefined && (version === undefined || VERSIONS.has(version))) return;
  }
  const given = contentType === null ? "no Content-Type" : `Content-Type [${contentType}]`;
  throw new OperatingError(
    "unsupported_media_type",
    `cannot read ${what} with ${given}: send application/x-ndjson, application/json or ` +
      `application/vnd.elasticsearch+x-ndjson; compatible-with=8 or 9`,
    { reason: "unsupported_content_type" },
  );
}

/**
 * The content type to answer `request` with: the vendor form when it is what the client accepts, or
 * sent without saying what it accepts; else plain JSON.
 */
export function replyTypeOf(request: Request): string {
  const accept = request.headers.get("accept");
  const wanted = accept === null || accept.includes("*/*")
    ? [accept, request.headers.get("content-type")]
    : [accept];
  for (const header of wanted) {
    for (const part of header?.split(",") ?? []) {
      const { vendor, version } = mediaTypeOf(part);
      if (vendor === undefined) continue;
      if (version === undefined) return `application/vnd.${vendor}+json`;
      if (VERSIONS.has(version)) {
        return `application/vnd.${vendor}+json;compatible-with=${version}`;
      }
    }
  }
  return "application/json";
}

function mediaTypeOf(header: string): MediaType {
  const [type = "", ...parameters] = header.split(";").map((part) => part.trim().toLowerCase());
  const vendor = VENDOR_TYPE.exec(type)?.[1];
  const name = "compatible-with=";
  const version = parameters.find((parameter) => parameter.startsWith(name))?.slice(name.length);
  return { type, vendor, version };
}

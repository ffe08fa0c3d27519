/**
 * A request body as JSON, and of no other media type. A web page of any origin can have a browser
 * send `text/plain` and forms unasked. Before it sends `application/json` the browser asks with a
 * preflight.
 */

import { textOf } from "../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../shared/base/errors.ts";
import { type BodyLimits, drainBody, readBody } from "../shared/http/body.ts";

const BODY_BYTES_MAX = 1024 * 1024;

/**
 * Reads and parses a body. Errors: those of `readJsonText`; `invalid_argument` for what is no JSON.
 */
export async function readJson(request: Request): Promise<unknown> {
  const body = await readJsonText(request, { bytesMax: BODY_BYTES_MAX });
  try {
    return JSON.parse(textOf(body));
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot read the request body as JSON: ${messageOf(cause)}`,
      { reason: "invalid_body", cause },
    );
  }
}

/**
 * Reads the bytes of a body that says it is JSON. Errors: `unsupported_media_type`; `too_large`.
 */
export async function readJsonText(
  request: Request,
  limits: Pick<BodyLimits, "bytesMax" | "hold">,
): Promise<Uint8Array> {
  const contentType = request.headers.get("content-type");
  if (contentType !== JSON_TYPE && !isJson(contentType)) {
    await drainBody(request);
    throw unsupported(contentType);
  }
  return await readBody(request, limits);
}

const JSON_TYPE = "application/json";

/** Parameters of the media type do not matter. */
function isJson(contentType: string | null): boolean {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() === JSON_TYPE;
}

function unsupported(contentType: string | null): OperatingError {
  const given = contentType === null
    ? "without a Content-Type"
    : `of Content-Type ${JSON.stringify(contentType)}`;
  return new OperatingError(
    "unsupported_media_type",
    `Cannot read a request body ${given}: send ${JSON_TYPE}`,
    { reason: "unsupported_content_type" },
  );
}

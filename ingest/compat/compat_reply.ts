/**
 * What the search-engine surface answers: every response says which product it stands in for,
 * errors included, or official clients refuse to talk on
 * (docs/clients.md#a-bulk-reply-that-all-accept).
 */

import type { ErrorCode, OperatingError } from "../../shared/base/errors.ts";
import { asOperatingError, errorHeaders } from "../../shared/http/error_response.ts";
import { replyTypeOf } from "./compat_media_type.ts";

const PRODUCT: [string, string] = ["x-elastic-product", "Elasticsearch"];

/** A JSON answer in the client's own media type. */
export function compatJson(request: Request, text: string, status = 200): Response {
  return new Response(text, { status, headers: [PRODUCT, ["content-type", replyTypeOf(request)]] });
}

export const ACKNOWLEDGED = JSON.stringify({ acknowledged: true });

/** A plain text with the product's header. */
export function compatText(text: string): Response {
  return new Response(text, { headers: [PRODUCT, ["content-type", "text/plain; charset=UTF-8"]] });
}

/** An error that has a type of its own in the original. */
export interface CompatFault {
  readonly status: number;
  readonly type: string;
  readonly reason: string;
}

/** An error in the surface's shape: docs/api/ingest.md#what-search-engine-clients-ask. */
export function compatFault(request: Request, { status, type, reason }: CompatFault): Response {
  const cause = { type, reason };
  return compatJson(
    request,
    JSON.stringify({ error: { ...cause, root_cause: [cause] }, status }),
    status,
  );
}

/** Names of the original's exceptions, which its clients show. */
const ERROR_TYPES: Partial<Record<ErrorCode, string>> = {
  invalid_argument: "illegal_argument_exception",
  unauthenticated: "security_exception",
  permission_denied: "security_exception",
  not_found: "resource_not_found_exception",
  method_not_allowed: "method_not_allowed_exception",
  too_large: "content_too_long_exception",
  unsupported_media_type: "media_type_header_exception",
  unprocessable: "illegal_argument_exception",
  rate_limited: "es_rejected_execution_exception",
  unimplemented: "unsupported_operation_exception",
  unavailable: "es_rejected_execution_exception",
  deadline_exceeded: "timeout_exception",
};

/** The type that an item or a whole request names for `error`. */
export function compatErrorType(error: OperatingError): string {
  return ERROR_TYPES[error.code] ?? "exception";
}

/**
 * An answer for whatever was thrown, in the surface's shape:
 * docs/api/ingest.md#what-search-engine-clients-ask.
 */
export function compatRefused(
  request: Request,
  thrown: unknown,
  headers: [string, string][] = [],
): Response {
  const error = asOperatingError(thrown);
  const type = compatErrorType(error);
  const response = compatFault(request, { status: error.httpStatus, type, reason: error.message });
  for (const [name, value] of [...errorHeaders(error), ...headers]) {
    response.headers.set(name, value);
  }
  return response;
}

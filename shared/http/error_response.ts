/**
 * The JSON error body of native routes: `{"error","code","reason"?}` plus the error's details
 * (docs/api/README.md#conventions). OTLP and compatibility routes have their own bodies; they share
 * `asOperatingError` and `errorHeaders`.
 */

import { getLogger } from "@logtape/logtape";
import { utf8 } from "../base/bytes.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { DISK_FAILURE, diskRemedy } from "../os/disk_failure.ts";
import { ACCEPTED_ENCODINGS, UNSUPPORTED_ENCODING } from "./content_encoding.ts";

/** The JSON body of an error response. */
export interface ErrorBody {
  readonly error: string;
  /** The HTTP status. */
  readonly code: number;
  readonly reason?: string;
  readonly [detail: string]: unknown;
}

/** An answer for whatever was thrown. Bugs are logged with their stack and answered without it. */
export function errorResponse(thrown: unknown, headers: HeadersInit = {}): Response {
  const error = asOperatingError(thrown);
  const all = new Headers(headers);
  for (const [name, value] of errorHeaders(error)) all.set(name, value);
  return jsonResponse(errorBody(error), { status: error.httpStatus, headers: all });
}

/** The JSON body of an error response: the message, and the stable reason where there is one. */
function errorBody(error: OperatingError): ErrorBody {
  return {
    error: error.message,
    code: error.httpStatus,
    ...(error.reason === undefined ? {} : { reason: error.reason }),
    ...error.details,
  };
}

/**
 * Headers that an error brings whatever its body looks like: `Retry-After`, the scheme to
 * authenticate with, and the encodings that would have been read (RFC 9110 section 15.5.16).
 */
export function errorHeaders(error: OperatingError): [string, string][] {
  const headers: [string, string][] = [];
  if (error.retryAfterSecs !== undefined) {
    headers.push(["retry-after", String(error.retryAfterSecs)]);
  }
  if (error.code === "unauthenticated") headers.push(["www-authenticate", "Bearer"]);
  if (error.reason === UNSUPPORTED_ENCODING) headers.push(["accept-encoding", ACCEPTED_ENCODINGS]);
  return headers;
}

/**
 * `thrown` itself, or an error in its place after logging it: `unavailable` for a disk that fails,
 * `internal` for a bug. A client learns neither paths nor anything of a bug.
 */
export function asOperatingError(thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const remedy = diskRemedy(thrown);
  if (remedy !== undefined) {
    getLogger(["svc", "http"]).error("request failed by a file or disk: {error}; {remedy}", {
      error: messageOf(thrown),
      remedy,
    });
    return new OperatingError(
      "unavailable",
      "the server could not use one of its files: its log names it and what to do",
      { reason: DISK_FAILURE, retryAfterSecs: 5, cause: thrown },
    );
  }
  const stack = thrown instanceof Error ? thrown.stack : String(thrown);
  getLogger(["svc", "http"]).error("request failed by a bug: {stack}", { stack });
  return new OperatingError("internal", "the server failed on this request: see its log", {
    cause: thrown,
  });
}

/**
 * A JSON answer, compact. It says its length itself, for HEAD: the router leaves the body out, and
 * 0 would be told.
 */
export function jsonResponse(value: unknown, init: ResponseInit = {}): Response {
  const body = utf8(JSON.stringify(value));
  const headers = new Headers(init.headers);
  headers.set("content-type", "application/json");
  headers.set("content-length", String(body.byteLength));
  return new Response(body, { ...init, headers });
}

/**
 * What a client is told that asks a server's own address for its metrics; `port` is that of the
 * default.
 */
export function metricsElsewhere(port: string): OperatingError {
  return new OperatingError(
    "not_found",
    `there is no /metrics here: metrics have an address of their own, --metrics-bind (port ${port} ` +
      "unless told otherwise)",
    { reason: "metrics_elsewhere" },
  );
}

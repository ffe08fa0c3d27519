/**
 * What OTLP/HTTP senders get back (docs/clients.md#what-otlp-asks-of-a-server): a message of their
 * own encoding, whose content type is exactly one of two texts. A `charset` there makes collectors
 * ignore the body.
 */

import type { OperatingError } from "../../shared/base/errors.ts";
import { errorHeaders } from "../../shared/http/error_response.ts";
import {
  encodeExportLogsResponseProtobuf,
  encodeStatusProtobuf,
  exportLogsResponseJson,
  requestViolation,
  statusJson,
} from "../../proto/otlp_logs.ts";
import type { RefusedRows } from "../mapped_rows.ts";

export type OtlpEncoding = "protobuf" | "json";

const CONTENT_TYPES = {
  protobuf: "application/x-protobuf",
  json: "application/json",
} as const satisfies Record<OtlpEncoding, string>;

/**
 * The encoding that a request's `Content-Type` names, its parameters aside; undefined for any other
 * type.
 */
export function otlpEncodingOf(contentType: string | null): OtlpEncoding | undefined {
  if (contentType === CONTENT_TYPES.protobuf) return "protobuf";
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === CONTENT_TYPES.protobuf) return "protobuf";
  if (type === CONTENT_TYPES.json) return "json";
  return undefined;
}

const PROTOBUF_HEADERS: [string, string][] = [["content-type", CONTENT_TYPES.protobuf]];
const JSON_HEADERS: [string, string][] = [["content-type", CONTENT_TYPES.json]];

/**
 * An `Export…ServiceResponse`: on full success with nothing set, which has no bytes in protobuf;
 * `refused` becomes its `partial_success`, which a sender must not send again.
 */
export function otlpAccepted(encoding: OtlpEncoding, refused?: RefusedRows): Response {
  if (refused !== undefined) return otlpPartlyAccepted(encoding, refused);
  return encoding === "protobuf"
    ? new Response(null, { status: 200, headers: PROTOBUF_HEADERS })
    : new Response("{}", { status: 200, headers: JSON_HEADERS });
}

function otlpPartlyAccepted(encoding: OtlpEncoding, { count, reason }: RefusedRows): Response {
  const partial = { ...(count === 0 ? {} : { rejected: count }), message: reason };
  return encoding === "protobuf"
    ? new Response(new Uint8Array(encodeExportLogsResponseProtobuf(partial)), {
      status: 200,
      headers: PROTOBUF_HEADERS,
    })
    : new Response(exportLogsResponseJson(partial), { status: 200, headers: JSON_HEADERS });
}

/**
 * A `google.rpc.Status`; with a `BadRequest` detail when the request itself was wrong, and the
 * error's reason as an `ErrorInfo`. `headers` stand beside those that the error brings.
 */
export function otlpRefused(
  error: OperatingError,
  encoding: OtlpEncoding,
  headers: readonly [string, string][] = [],
): Response {
  const fields = {
    code: error.grpcStatus,
    message: error.message,
    ...(error.httpStatus === 400
      ? { violations: [requestViolation(error.message, error.reason)] }
      : {}),
    ...(error.reason === undefined ? {} : { reason: error.reason }),
  };
  const body = encoding === "protobuf"
    ? new Uint8Array(encodeStatusProtobuf(fields))
    : statusJson(fields);
  return new Response(body, {
    status: error.httpStatus,
    headers: [["content-type", CONTENT_TYPES[encoding]], ...errorHeaders(error), ...headers],
  });
}

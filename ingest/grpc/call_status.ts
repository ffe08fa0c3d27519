/**
 * How gRPC calls end: code and message, and in `grpc-status-details-bin` a `google.rpc.Status` with
 * what senders act on (docs/clients.md#what-otlp-asks-of-a-server).
 *
 * Senders repeat UNAVAILABLE with or without `RetryInfo`, after its delay where there is one. They
 * give a batch up on INVALID_ARGUMENT, INTERNAL, PERMISSION_DENIED and UNAUTHENTICATED, and on
 * RESOURCE_EXHAUSTED without `RetryInfo`.
 */

import {
  encodeExportLogsResponseProtobuf,
  encodeStatusProtobuf,
  requestViolation,
} from "../../proto/otlp_logs.ts";
import { ERROR_KINDS, type OperatingError } from "../../shared/base/errors.ts";
import type { Http2Answer } from "../../shared/http2/stream.ts";
import type { RefusedRows } from "../mapped_rows.ts";

/** Numbers of `google.rpc.Code`, as far as calls end with them. */
export const STATUS_NAMES: Readonly<Record<number, string>> = {
  0: "OK",
  1: "CANCELLED",
  3: "INVALID_ARGUMENT",
  4: "DEADLINE_EXCEEDED",
  7: "PERMISSION_DENIED",
  8: "RESOURCE_EXHAUSTED",
  12: "UNIMPLEMENTED",
  13: "INTERNAL",
  14: "UNAVAILABLE",
  15: "DATA_LOSS",
  16: "UNAUTHENTICATED",
};

/**
 * Seconds after which a sender tries again when its append failed. OTLP/HTTP answers that with 500
 * as docs/api/ingest.md#statuses says, and senders drop the batch. gRPC has no such table. The
 * batch is kept, at the price of doubled rows should the failed append turn out to be on disk.
 */
const APPEND_RETRY_SECS = 1;

/**
 * The most characters of a status message. Longer ones are cut, since senders bound what they take
 * of headers.
 */
const MESSAGE_CHARS_MAX = 1_000;

const HEAD = [
  [":status", "200"],
  ["content-type", "application/grpc"],
] as const;

/** What comes before each message: a flag for compression and its length. */
const PREFIX_BYTES = 5;

/** Full success: an `Export…ServiceResponse` with nothing set, which has no bytes. */
export const ACCEPTED: Http2Answer = {
  fields: HEAD,
  body: new Uint8Array(PREFIX_BYTES),
  trailers: [["grpc-status", "0"]],
};

/** Success but for some rows: an `ExportLogsServiceResponse` with its `partial_success`. */
export function partlyAccepted({ count, reason }: RefusedRows): Http2Answer {
  const message = encodeExportLogsResponseProtobuf({ rejected: count, message: reason });
  const body = new Uint8Array(PREFIX_BYTES + message.byteLength);
  new DataView(body.buffer).setUint32(1, message.byteLength);
  body.set(message, PREFIX_BYTES);
  return { ...ACCEPTED, body };
}

/** The `google.rpc.Code` that `error` ends a call with. */
export function statusCodeOf(error: OperatingError): number {
  return appendFailed(error) ? ERROR_KINDS.unavailable.grpc : error.grpcStatus;
}

/** How a call ends that failed: its gRPC status, message and details. */
export function failedCall(error: OperatingError): Http2Answer {
  const code = statusCodeOf(error);
  const message = error.message.slice(0, MESSAGE_CHARS_MAX).toWellFormed();
  const retryAfterSecs = appendFailed(error) ? APPEND_RETRY_SECS : error.retryAfterSecs;
  const details = encodeStatusProtobuf({
    code,
    message,
    ...(code === ERROR_KINDS.invalid_argument.grpc
      ? { violations: [requestViolation(message, error.reason)] }
      : {}),
    ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
    ...(error.reason === undefined ? {} : { reason: error.reason }),
  });
  return {
    fields: [
      ...HEAD,
      ["grpc-status", String(code)],
      ["grpc-message", percentEncoded(message)],
      ["grpc-status-details-bin", details.toBase64({ omitPadding: true })],
      ["grpc-accept-encoding", ACCEPTED_ENCODINGS.join(",")],
    ],
  };
}

/** Values of `grpc-encoding` that are read. */
export const ACCEPTED_ENCODINGS = ["identity", "gzip", "deflate", "zstd", "snappy"] as const;

function appendFailed(error: OperatingError): boolean {
  return error.reason === "wal_append_failed";
}

/** UTF-8 with everything escaped that is not printable ASCII, and the percent sign. */
function percentEncoded(text: string): string {
  return Array.from(
    new TextEncoder().encode(text),
    (byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

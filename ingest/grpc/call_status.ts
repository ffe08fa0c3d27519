/**
 * What gRPC senders read when a call fails: code, message, and in `grpc-status-details-bin` a
 * `google.rpc.Status` with what they act on (CLIENTS.md section 10).
 *
 * Senders repeat UNAVAILABLE with or without `RetryInfo`, after its delay where there is one; they
 * give a batch up on INVALID_ARGUMENT, INTERNAL, PERMISSION_DENIED and UNAUTHENTICATED, and on
 * RESOURCE_EXHAUSTED without `RetryInfo`.
 */

import { Buffer } from "node:buffer";
import { Metadata, type status } from "@grpc/grpc-js";
import { encodeStatusProtobuf } from "../../proto/otlp_logs.ts";
import { ERROR_KINDS, type OperatingError } from "../../shared/base/errors.ts";

/** The form in which the gRPC library takes a failure. */
export interface FailedCall {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/**
 * Seconds after which a sender tries again when its append failed. OTLP/HTTP answers that with 500
 * as SPEC.md section 7 demands, and senders drop the batch. gRPC has no such table: the batch is
 * kept, at the price of doubled rows should the failed append turn out to be on disk.
 */
const APPEND_RETRY_SECS = 1;

export function failedCall(error: OperatingError): FailedCall {
  const appendFailed = error.reason === "wal_append_failed";
  const code = appendFailed ? ERROR_KINDS.unavailable.grpc : error.grpcStatus;
  const message = error.message.toWellFormed();
  const retryAfterSecs = appendFailed ? APPEND_RETRY_SECS : error.retryAfterSecs;
  const details = encodeStatusProtobuf({
    code,
    message,
    ...(code === ERROR_KINDS.invalid_argument.grpc
      ? { violations: [{ field: error.reason ?? "request", description: message }] }
      : {}),
    ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
  });
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(details));
  return { code, details: message, metadata };
}

/**
 * The OTLP logs messages and `google.rpc.Status` through protobufjs: for responses, errors, the
 * request encoder of tests and tools, and requests whose encoding is legal but irregular. Requests
 * on the hot path are decoded by `ingest/otlp/logs/logs_protobuf.ts`.
 *
 * Only fields that are stored or answered are named; others pass as unknown fields. Field numbers:
 * https://github.com/open-telemetry/opentelemetry-proto (v1), google/rpc/status.proto,
 * error_details.proto.
 */

import type protobuf from "protobufjs";
import {
  type AnyValue,
  type KeyValue,
  message,
  protoNamespace,
  type Resource,
  type Scope,
} from "./otlp_common.ts";

const root = protoNamespace({
  LogRecord: message({
    timeUnixNano: { id: 1, type: "fixed64" },
    severityNumber: { id: 2, type: "int32" },
    severityText: { id: 3, type: "string" },
    body: { id: 5, type: "AnyValue" },
    attributes: { id: 6, type: "KeyValue", rule: "repeated" },
    droppedAttributesCount: { id: 7, type: "uint32" },
    flags: { id: 8, type: "fixed32" },
    traceId: { id: 9, type: "bytes" },
    spanId: { id: 10, type: "bytes" },
    observedTimeUnixNano: { id: 11, type: "fixed64" },
    eventName: { id: 12, type: "string" },
  }),
  ScopeLogs: message({
    scope: { id: 1, type: "InstrumentationScope" },
    logRecords: { id: 2, type: "LogRecord", rule: "repeated" },
  }),
  ResourceLogs: message({
    resource: { id: 1, type: "Resource" },
    scopeLogs: { id: 2, type: "ScopeLogs", rule: "repeated" },
  }),
  ExportLogsServiceRequest: message({
    resourceLogs: { id: 1, type: "ResourceLogs", rule: "repeated" },
  }),
  ExportLogsPartialSuccess: message({
    rejectedLogRecords: { id: 1, type: "int64" },
    errorMessage: { id: 2, type: "string" },
  }),
  ExportLogsServiceResponse: message({
    partialSuccess: { id: 1, type: "ExportLogsPartialSuccess" },
  }),
  Any: message({ type_url: { id: 1, type: "string" }, value: { id: 2, type: "bytes" } }),
  Status: message({
    code: { id: 1, type: "int32" },
    message: { id: 2, type: "string" },
    details: { id: 3, type: "Any", rule: "repeated" },
  }),
  FieldViolation: message({
    field: { id: 1, type: "string" },
    description: { id: 2, type: "string" },
    reason: { id: 3, type: "string" },
  }),
  BadRequest: message({
    fieldViolations: { id: 1, type: "FieldViolation", rule: "repeated" },
  }),
  Duration: message({ seconds: { id: 1, type: "int64" } }),
  RetryInfo: message({ retryDelay: { id: 1, type: "Duration" } }),
  ErrorInfo: message({
    reason: { id: 1, type: "string" },
    domain: { id: 2, type: "string" },
  }),
});

/** `ExportLogsServiceRequest`, for code that needs protobufjs's own view of a request. */
export const ExportLogsServiceRequest: protobuf.Type = root.lookupType("ExportLogsServiceRequest");
const ExportLogsServiceResponse = root.lookupType("ExportLogsServiceResponse");
const Status = root.lookupType("Status");
const BadRequest = root.lookupType("BadRequest");
const RetryInfo = root.lookupType("RetryInfo");
const ErrorInfo = root.lookupType("ErrorInfo");

export interface LogRecord {
  /** Decimal strings: nanoseconds do not fit a number. */
  readonly timeUnixNano?: string;
  readonly observedTimeUnixNano?: string;
  readonly severityNumber?: number;
  readonly severityText?: string;
  readonly body?: AnyValue;
  readonly attributes?: readonly KeyValue[];
  readonly droppedAttributesCount?: number;
  readonly flags?: number;
  readonly traceId?: Uint8Array;
  readonly spanId?: Uint8Array;
  readonly eventName?: string;
}

export interface LogsRequest {
  readonly resourceLogs?: readonly {
    readonly resource?: Resource;
    readonly scopeLogs?: readonly {
      readonly scope?: Scope;
      readonly logRecords?: readonly LogRecord[];
    }[];
  }[];
}

/**
 * An `ExportLogsServiceRequest` in protobuf: for tests, load generators and tools. It is the body
 * of a POST to `/v1/logs` with the content type `application/x-protobuf`.
 *
 * ```ts
 * import { encodeLogsRequest, ExportLogsServiceRequest } from "@svc/proto/otlp_logs";
 *
 * const body = encodeLogsRequest({
 *   resourceLogs: [{
 *     resource: { attributes: [{ key: "service.name", value: { stringValue: "checkout" } }] },
 *     scopeLogs: [{
 *       logRecords: [{ timeUnixNano: "1795250209000000001", body: { stringValue: "declined" } }],
 *     }],
 *   }],
 * });
 * const { resourceLogs } = ExportLogsServiceRequest.decode(body).toJSON();
 * if (resourceLogs[0].scopeLogs[0].logRecords[0].body.stringValue !== "declined") throw Error();
 * ```
 */
export function encodeLogsRequest(request: LogsRequest): Uint8Array {
  return ExportLogsServiceRequest.encode(ExportLogsServiceRequest.fromObject(request)).finish();
}

/**
 * The request as a regular encoder would have written it: every singular field once. Throws what
 * protobufjs throws when `body` is no request.
 */
export function regularLogsRequest(body: Uint8Array): Uint8Array {
  return ExportLogsServiceRequest.encode(ExportLogsServiceRequest.decode(body)).finish();
}

export interface PartialSuccess {
  /** Log records that were refused. */
  readonly rejected?: number;
  readonly message?: string;
}

/** An `ExportLogsServiceResponse`; empty on full success, as OTLP demands. */
export function encodeExportLogsResponseProtobuf(partial: PartialSuccess = {}): Uint8Array {
  return ExportLogsServiceResponse.encode(exportLogsResponse(partial)).finish();
}

/**
 * An `ExportLogsServiceResponse` in OTLP/JSON; `{}` on full success.
 *
 * ```ts
 * import { exportLogsResponseJson } from "@svc/proto/otlp_logs";
 *
 * const text = exportLogsResponseJson({ rejected: 2, message: "a body is no UTF-8" });
 * if (JSON.parse(text).partialSuccess.rejectedLogRecords !== "2") throw Error(text);
 * ```
 */
export function exportLogsResponseJson(partial: PartialSuccess = {}): string {
  return JSON.stringify(exportLogsResponse(partial));
}

function exportLogsResponse({ rejected, message }: PartialSuccess) {
  if (rejected === undefined && message === undefined) return {};
  return {
    partialSuccess: {
      ...(rejected === undefined ? {} : { rejectedLogRecords: String(rejected) }),
      ...(message === undefined ? {} : { errorMessage: message }),
    },
  };
}

/** `google.rpc.BadRequest.FieldViolation`. */
export interface FieldViolation {
  /** Path to what is wrong, within the request; empty: the request as a whole. */
  readonly field: string;
  readonly description: string;
  /** Stable, in UPPER_SNAKE_CASE. */
  readonly reason?: string;
}

/** What was wrong with a request as a whole; `reason` is an operating error's. */
export function requestViolation(description: string, reason: string | undefined): FieldViolation {
  return {
    field: "",
    description,
    ...(reason === undefined ? {} : { reason: reason.toUpperCase() }),
  };
}

export interface StatusFields {
  /** A gRPC status code. */
  readonly code: number;
  readonly message: string;
  /** What was wrong with the request: becomes a `BadRequest` detail. */
  readonly violations?: readonly FieldViolation[];
  /**
   * When to send again: becomes a `RetryInfo` detail. In protobuf only: HTTP has a header for it.
   */
  readonly retryAfterSecs?: number;
  /** Stable word: becomes an `ErrorInfo` detail, in capitals as its definition has them. */
  readonly reason?: string;
}

/** Whose words `reason`s are. */
const ERROR_DOMAIN = "svc";

const BAD_REQUEST_TYPE = "type.googleapis.com/google.rpc.BadRequest";
const RETRY_INFO_TYPE = "type.googleapis.com/google.rpc.RetryInfo";
const ERROR_INFO_TYPE = "type.googleapis.com/google.rpc.ErrorInfo";

/** A `google.rpc.Status` in protobuf. */
export function encodeStatusProtobuf(fields: StatusFields): Uint8Array {
  const { code, message, violations, retryAfterSecs, reason } = fields;
  const details: { type_url: string; value: Uint8Array }[] = [];
  if (violations !== undefined) {
    const value = BadRequest.encode({ fieldViolations: violations }).finish();
    details.push({ type_url: BAD_REQUEST_TYPE, value });
  }
  if (retryAfterSecs !== undefined) {
    const value = RetryInfo.encode({ retryDelay: { seconds: retryAfterSecs } }).finish();
    details.push({ type_url: RETRY_INFO_TYPE, value });
  }
  if (reason !== undefined) {
    const value = ErrorInfo.encode(errorInfo(reason)).finish();
    details.push({ type_url: ERROR_INFO_TYPE, value });
  }
  return Status.encode({ code, message, details }).finish();
}

/**
 * A `google.rpc.Status` in JSON, as an HTTP answer has it.
 *
 * ```ts
 * import { requestViolation, statusJson } from "@svc/proto/otlp_logs";
 *
 * const message = "the body is no protobuf";
 * const violations = [requestViolation(message, "bad_body")];
 * const { details } = JSON.parse(statusJson({ code: 3, message, violations }));
 * if (details[0].fieldViolations[0].reason !== "BAD_BODY") throw Error();
 * ```
 */
export function statusJson({ code, message, violations, reason }: StatusFields): string {
  const details = [
    ...(violations === undefined
      ? []
      : [{ "@type": BAD_REQUEST_TYPE, fieldViolations: violations }]),
    ...(reason === undefined ? [] : [{ "@type": ERROR_INFO_TYPE, ...errorInfo(reason) }]),
  ];
  return JSON.stringify({ code, message, ...(details.length === 0 ? {} : { details }) });
}

function errorInfo(reason: string) {
  return { reason: reason.toUpperCase(), domain: ERROR_DOMAIN };
}

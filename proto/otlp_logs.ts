/**
 * The OTLP logs messages and `google.rpc.Status` through protobufjs: for responses, errors, the request
 * encoder of tests and tools, and requests whose encoding is legal but irregular. Requests on the hot path
 * are decoded by `ingest/otlp/logs_protobuf.ts`.
 *
 * Only fields that are stored or answered are named; others pass as unknown fields. Field numbers:
 * https://github.com/open-telemetry/opentelemetry-proto (v1), google/rpc/status.proto, error_details.proto.
 */

import protobuf from "protobufjs";

/** An attribute value or body nests 32 deep, at three messages a level below the log record. */
const NESTING_MAX = 128;
protobuf.util.recursionLimit = NESTING_MAX;
protobuf.Reader.recursionLimit = NESTING_MAX;

type FieldTable = Record<string, { id: number; type: string; rule?: "repeated" }>;

function message(fields: FieldTable, oneof?: Record<string, { oneof: string[] }>) {
  return oneof === undefined ? { fields } : { fields, oneofs: oneof };
}

const ANY_VALUE_FIELDS: FieldTable = {
  stringValue: { id: 1, type: "string" },
  boolValue: { id: 2, type: "bool" },
  intValue: { id: 3, type: "int64" },
  doubleValue: { id: 4, type: "double" },
  arrayValue: { id: 5, type: "ArrayValue" },
  kvlistValue: { id: 6, type: "KeyValueList" },
  bytesValue: { id: 7, type: "bytes" },
};

/** protobufjs reads `edition`, its types do not name it; without it strings pass unchecked. */
const descriptor: protobuf.INamespace & { readonly edition: string } = {
  edition: "proto3",
  nested: {
    AnyValue: message(ANY_VALUE_FIELDS, { value: { oneof: Object.keys(ANY_VALUE_FIELDS) } }),
    ArrayValue: message({ values: { id: 1, type: "AnyValue", rule: "repeated" } }),
    KeyValueList: message({ values: { id: 1, type: "KeyValue", rule: "repeated" } }),
    KeyValue: message({ key: { id: 1, type: "string" }, value: { id: 2, type: "AnyValue" } }),
    Resource: message({ attributes: { id: 1, type: "KeyValue", rule: "repeated" } }),
    InstrumentationScope: message({
      name: { id: 1, type: "string" },
      version: { id: 2, type: "string" },
      attributes: { id: 3, type: "KeyValue", rule: "repeated" },
    }),
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
    }),
    BadRequest: message({
      fieldViolations: { id: 1, type: "FieldViolation", rule: "repeated" },
    }),
  },
};

const root = protobuf.Root.fromJSON(descriptor);

/** `ExportLogsServiceRequest`, for whoever needs protobufjs's own view of a request. */
export const ExportLogsServiceRequest: protobuf.Type = root.lookupType("ExportLogsServiceRequest");
const ExportLogsServiceResponse = root.lookupType("ExportLogsServiceResponse");
const Status = root.lookupType("Status");
const BadRequest = root.lookupType("BadRequest");

/** A value of an attribute or body, as OTLP/JSON writes it; at most one member. */
export interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  /** A decimal string beyond 2^53. */
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly AnyValue[] };
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] };
  readonly bytesValue?: Uint8Array;
}

export interface KeyValue {
  readonly key: string;
  readonly value?: AnyValue;
}

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
    readonly resource?: { readonly attributes?: readonly KeyValue[] };
    readonly scopeLogs?: readonly {
      readonly scope?: {
        readonly name?: string;
        readonly version?: string;
        readonly attributes?: readonly KeyValue[];
      };
      readonly logRecords?: readonly LogRecord[];
    }[];
  }[];
}

/** An `ExportLogsServiceRequest` in protobuf: for tests, load generators and tools. */
export function encodeLogsRequest(request: LogsRequest): Uint8Array {
  return ExportLogsServiceRequest.encode(ExportLogsServiceRequest.fromObject(request)).finish();
}

/**
 * The same request as a regular encoder would have written it: every singular field once. Throws what
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

/** The same response in OTLP/JSON. */
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

export interface StatusFields {
  /** A gRPC status code. */
  readonly code: number;
  readonly message: string;
  /** What was wrong with the request: becomes a `BadRequest` detail. */
  readonly violations?: readonly { readonly field: string; readonly description: string }[];
}

const BAD_REQUEST_TYPE = "type.googleapis.com/google.rpc.BadRequest";

/** A `google.rpc.Status` in protobuf. */
export function encodeStatusProtobuf({ code, message, violations }: StatusFields): Uint8Array {
  const details = violations === undefined ? [] : [{
    type_url: BAD_REQUEST_TYPE,
    value: BadRequest.encode({ fieldViolations: violations }).finish(),
  }];
  return Status.encode({ code, message, details }).finish();
}

/** A `google.rpc.Status` in JSON. */
export function statusJson({ code, message, violations }: StatusFields): string {
  const details = violations === undefined
    ? {}
    : { details: [{ "@type": BAD_REQUEST_TYPE, fieldViolations: violations }] };
  return JSON.stringify({ code, message, ...details });
}

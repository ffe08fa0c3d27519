/**
 * The OTLP trace messages through protobufjs: for the request encoder of tests and tools, and
 * requests whose encoding is legal but irregular. Requests on the hot path are decoded by
 * `ingest/otlp/spans/spans_protobuf.ts`.
 *
 * Only fields that are stored are named; others pass as unknown fields. No response: a whole
 * request is accepted, and an empty `ExportTraceServiceResponse` has no bytes, or refused with a
 * `google.rpc.Status`. Field numbers: https://github.com/open-telemetry/opentelemetry-proto (v1,
 * trace).
 */

import type protobuf from "protobufjs";
import {
  type KeyValue,
  message,
  protoNamespace,
  type Resource,
  type Scope,
} from "./otlp_common.ts";

const root = protoNamespace({
  SpanEvent: message({
    timeUnixNano: { id: 1, type: "fixed64" },
    name: { id: 2, type: "string" },
    attributes: { id: 3, type: "KeyValue", rule: "repeated" },
    droppedAttributesCount: { id: 4, type: "uint32" },
  }),
  SpanLink: message({
    traceId: { id: 1, type: "bytes" },
    spanId: { id: 2, type: "bytes" },
    traceState: { id: 3, type: "string" },
    attributes: { id: 4, type: "KeyValue", rule: "repeated" },
    droppedAttributesCount: { id: 5, type: "uint32" },
    flags: { id: 6, type: "fixed32" },
  }),
  SpanStatus: message({
    message: { id: 2, type: "string" },
    code: { id: 3, type: "int32" },
  }),
  Span: message({
    traceId: { id: 1, type: "bytes" },
    spanId: { id: 2, type: "bytes" },
    traceState: { id: 3, type: "string" },
    parentSpanId: { id: 4, type: "bytes" },
    name: { id: 5, type: "string" },
    kind: { id: 6, type: "int32" },
    startTimeUnixNano: { id: 7, type: "fixed64" },
    endTimeUnixNano: { id: 8, type: "fixed64" },
    attributes: { id: 9, type: "KeyValue", rule: "repeated" },
    droppedAttributesCount: { id: 10, type: "uint32" },
    events: { id: 11, type: "SpanEvent", rule: "repeated" },
    droppedEventsCount: { id: 12, type: "uint32" },
    links: { id: 13, type: "SpanLink", rule: "repeated" },
    droppedLinksCount: { id: 14, type: "uint32" },
    status: { id: 15, type: "SpanStatus" },
    flags: { id: 16, type: "fixed32" },
  }),
  ScopeSpans: message({
    scope: { id: 1, type: "InstrumentationScope" },
    spans: { id: 2, type: "Span", rule: "repeated" },
  }),
  ResourceSpans: message({
    resource: { id: 1, type: "Resource" },
    scopeSpans: { id: 2, type: "ScopeSpans", rule: "repeated" },
  }),
  ExportTraceServiceRequest: message({
    resourceSpans: { id: 1, type: "ResourceSpans", rule: "repeated" },
  }),
});

/** `ExportTraceServiceRequest`, for code that needs protobufjs's own view of a request. */
export const ExportTraceServiceRequest: protobuf.Type = root.lookupType(
  "ExportTraceServiceRequest",
);

export interface SpanEvent {
  /** A decimal string: nanoseconds do not fit a number. */
  readonly timeUnixNano?: string;
  readonly name?: string;
  readonly attributes?: readonly KeyValue[];
  readonly droppedAttributesCount?: number;
}

export interface SpanLink {
  readonly traceId?: Uint8Array;
  readonly spanId?: Uint8Array;
  readonly traceState?: string;
  readonly attributes?: readonly KeyValue[];
  readonly droppedAttributesCount?: number;
  readonly flags?: number;
}

export interface Span {
  readonly traceId?: Uint8Array;
  readonly spanId?: Uint8Array;
  readonly traceState?: string;
  readonly parentSpanId?: Uint8Array;
  readonly name?: string;
  readonly kind?: number;
  /** Decimal strings. */
  readonly startTimeUnixNano?: string;
  readonly endTimeUnixNano?: string;
  readonly attributes?: readonly KeyValue[];
  readonly droppedAttributesCount?: number;
  readonly events?: readonly SpanEvent[];
  readonly droppedEventsCount?: number;
  readonly links?: readonly SpanLink[];
  readonly droppedLinksCount?: number;
  readonly status?: { readonly message?: string; readonly code?: number };
  readonly flags?: number;
}

export interface TracesRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: Resource;
    readonly scopeSpans?: readonly { readonly scope?: Scope; readonly spans?: readonly Span[] }[];
  }[];
}

/**
 * An `ExportTraceServiceRequest` in protobuf: for tests, load generators and tools. It is the body
 * of a POST to `/v1/traces` with the content type `application/x-protobuf`.
 *
 * ```ts
 * import { encodeTracesRequest, ExportTraceServiceRequest } from "@svc/proto/otlp_traces";
 *
 * const body = encodeTracesRequest({
 *   resourceSpans: [{
 *     scopeSpans: [{
 *       spans: [{
 *         traceId: new Uint8Array(16).fill(7),
 *         spanId: new Uint8Array(8).fill(9),
 *         name: "POST /orders",
 *         startTimeUnixNano: "1795250209000000000",
 *         endTimeUnixNano: "1795250209250000000",
 *       }],
 *     }],
 *   }],
 * });
 * const { resourceSpans } = ExportTraceServiceRequest.decode(body).toJSON();
 * if (resourceSpans[0].scopeSpans[0].spans[0].name !== "POST /orders") throw Error();
 * ```
 */
export function encodeTracesRequest(request: TracesRequest): Uint8Array {
  return ExportTraceServiceRequest.encode(ExportTraceServiceRequest.fromObject(request)).finish();
}

/**
 * The request as a regular encoder would have written it: every singular field once. Throws what
 * protobufjs throws when `body` is no request.
 */
export function regularTracesRequest(body: Uint8Array): Uint8Array {
  return ExportTraceServiceRequest.encode(ExportTraceServiceRequest.decode(body)).finish();
}

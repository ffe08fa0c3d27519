/**
 * The messages of OTLP requests as members of OTLP/JSON. Source: opentelemetry-proto,
 * `common.proto`, `resource.proto`, `logs.proto` and `trace.proto`. Left out, since rare: bytes
 * values. Members that no row holds, such as `schemaUrl`, are here because senders send them.
 */

import { JsonMessage } from "./message_shape.ts";

const keyValue = new JsonMessage();
const anyValue = new JsonMessage({ isUnion: true });

const arrayValue = new JsonMessage().define([
  { name: "values", tag: 0x0a, kind: "messages", message: anyValue },
]);

const kvlistValue = new JsonMessage().define([
  { name: "values", tag: 0x0a, kind: "messages", message: keyValue },
]);

anyValue.define([
  { name: "stringValue", tag: 0x0a, kind: "string" },
  { name: "boolValue", tag: 0x10, kind: "bool" },
  { name: "intValue", tag: 0x18, kind: "int64" },
  { name: "doubleValue", tag: 0x21, kind: "double" },
  { name: "arrayValue", tag: 0x2a, kind: "message", message: arrayValue },
  { name: "kvlistValue", tag: 0x32, kind: "message", message: kvlistValue },
]);

keyValue.define([
  { name: "key", tag: 0x0a, kind: "string" },
  { name: "value", tag: 0x12, kind: "message", message: anyValue },
]);

const resource = new JsonMessage().define([
  { name: "attributes", tag: 0x0a, kind: "messages", message: keyValue },
  { name: "droppedAttributesCount", tag: 0x10, kind: "uint32" },
]);

const scope = new JsonMessage().define([
  { name: "name", tag: 0x0a, kind: "string" },
  { name: "version", tag: 0x12, kind: "string" },
  { name: "attributes", tag: 0x1a, kind: "messages", message: keyValue },
  { name: "droppedAttributesCount", tag: 0x20, kind: "uint32" },
]);

const logRecord = new JsonMessage().define([
  { name: "timeUnixNano", tag: 0x09, kind: "time" },
  { name: "observedTimeUnixNano", tag: 0x59, kind: "time" },
  { name: "severityNumber", tag: 0x10, kind: "int32" },
  { name: "severityText", tag: 0x1a, kind: "string" },
  { name: "body", tag: 0x2a, kind: "message", message: anyValue },
  { name: "attributes", tag: 0x32, kind: "messages", message: keyValue },
  { name: "droppedAttributesCount", tag: 0x38, kind: "uint32" },
  { name: "flags", tag: 0x45, kind: "fixed32" },
  { name: "traceId", tag: 0x4a, kind: "id" },
  { name: "spanId", tag: 0x52, kind: "id" },
  { name: "eventName", tag: 0x62, kind: "string" },
]);

const event = new JsonMessage().define([
  { name: "timeUnixNano", tag: 0x09, kind: "time" },
  { name: "name", tag: 0x12, kind: "string" },
  { name: "attributes", tag: 0x1a, kind: "messages", message: keyValue },
  { name: "droppedAttributesCount", tag: 0x20, kind: "uint32" },
]);

const link = new JsonMessage().define([
  { name: "traceId", tag: 0x0a, kind: "id" },
  { name: "spanId", tag: 0x12, kind: "id" },
  { name: "traceState", tag: 0x1a, kind: "string" },
  { name: "attributes", tag: 0x22, kind: "messages", message: keyValue },
  { name: "droppedAttributesCount", tag: 0x28, kind: "uint32" },
  { name: "flags", tag: 0x35, kind: "fixed32" },
]);

const status = new JsonMessage().define([
  { name: "message", tag: 0x12, kind: "string" },
  { name: "code", tag: 0x18, kind: "int32" },
]);

const span = new JsonMessage().define([
  { name: "traceId", tag: 0x0a, kind: "id" },
  { name: "spanId", tag: 0x12, kind: "id" },
  { name: "traceState", tag: 0x1a, kind: "string" },
  { name: "parentSpanId", tag: 0x22, kind: "id" },
  { name: "name", tag: 0x2a, kind: "string" },
  { name: "kind", tag: 0x30, kind: "int32" },
  { name: "startTimeUnixNano", tag: 0x39, kind: "time" },
  { name: "endTimeUnixNano", tag: 0x41, kind: "time" },
  { name: "attributes", tag: 0x4a, kind: "messages", message: keyValue },
  { name: "droppedAttributesCount", tag: 0x50, kind: "uint32" },
  { name: "events", tag: 0x5a, kind: "messages", message: event },
  { name: "droppedEventsCount", tag: 0x60, kind: "uint32" },
  { name: "links", tag: 0x6a, kind: "messages", message: link },
  { name: "droppedLinksCount", tag: 0x70, kind: "uint32" },
  { name: "status", tag: 0x7a, kind: "message", message: status },
  { name: "flags", tag: 0x85, kind: "fixed32" },
]);

export const LOGS_REQUEST = requestOf("Logs", { name: "logRecords", message: logRecord });
export const TRACE_REQUEST = requestOf("Spans", { name: "spans", message: span });

function requestOf(
  signal: string,
  records: { name: string; message: JsonMessage },
): JsonMessage {
  const ofScope = new JsonMessage().define([
    { name: "scope", tag: 0x0a, kind: "message", message: scope },
    { name: records.name, tag: 0x12, kind: "messages", message: records.message },
    { name: "schemaUrl", tag: 0x1a, kind: "string" },
  ]);
  const ofResource = new JsonMessage().define([
    { name: "resource", tag: 0x0a, kind: "message", message: resource },
    { name: `scope${signal}`, tag: 0x12, kind: "messages", message: ofScope },
    { name: "schemaUrl", tag: 0x1a, kind: "string" },
  ]);
  return new JsonMessage().define([
    { name: `resource${signal}`, tag: 0x0a, kind: "messages", message: ofResource },
  ]);
}

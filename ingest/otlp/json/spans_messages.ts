/** What OTLP/JSON of spans has and log records do not have. */

import type { JsonObject } from "../../../shared/document/json_object.ts";
import { eachObject, inObject } from "./member_values.ts";
import { TRACE_REQUEST } from "./common_messages.ts";
import type { JsonRequestShape, JsonRequestWriter } from "./parsed_request.ts";

export const SPANS_JSON: JsonRequestShape = {
  resources: "resourceSpans",
  scopes: "scopeSpans",
  records: "spans",
  message: TRACE_REQUEST,
  writeRecord: writeSpan,
};

function writeSpan(to: JsonRequestWriter, span: JsonObject): void {
  to.id(0x0a, span.traceId, "traceId");
  to.id(0x12, span.spanId, "spanId");
  to.string(0x1a, span.traceState, "traceState");
  to.id(0x22, span.parentSpanId, "parentSpanId");
  to.string(0x2a, span.name, "name");
  to.int32(0x30, span.kind, "kind");
  to.time(0x39, span.startTimeUnixNano, "startTimeUnixNano");
  to.time(0x41, span.endTimeUnixNano, "endTimeUnixNano");
  to.keyValues(0x4a, span);
  to.uint32(0x50, span.droppedAttributesCount, "droppedAttributesCount");
  eachObject(span.events, "events", (event) => writeEvent(to, event));
  to.uint32(0x60, span.droppedEventsCount, "droppedEventsCount");
  eachObject(span.links, "links", (link) => writeLink(to, link));
  to.uint32(0x70, span.droppedLinksCount, "droppedLinksCount");
  inObject(span.status, "status", (status) => {
    const start = to.wire.start(0x7a);
    to.string(0x12, status.message, "message");
    to.int32(0x18, status.code, "code");
    to.wire.end(start);
  });
  to.fixed32(0x85, span.flags, "flags");
}

function writeEvent(to: JsonRequestWriter, event: JsonObject): void {
  const start = to.wire.start(0x5a);
  to.time(0x09, event.timeUnixNano, "timeUnixNano");
  to.string(0x12, event.name, "name");
  to.keyValues(0x1a, event);
  to.uint32(0x20, event.droppedAttributesCount, "droppedAttributesCount");
  to.wire.end(start);
}

function writeLink(to: JsonRequestWriter, link: JsonObject): void {
  const start = to.wire.start(0x6a);
  to.id(0x0a, link.traceId, "traceId");
  to.id(0x12, link.spanId, "spanId");
  to.string(0x1a, link.traceState, "traceState");
  to.keyValues(0x22, link);
  to.uint32(0x28, link.droppedAttributesCount, "droppedAttributesCount");
  to.fixed32(0x35, link.flags, "flags");
  to.wire.end(start);
}

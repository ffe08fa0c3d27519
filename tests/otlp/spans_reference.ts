/**
 * The mapping of spans to rows once more, for tests: protobufjs objects → row objects, in the
 * plainest way, from docs/api/tables.md#traces and the decisions told in
 * `ingest/otlp/spans/spans_protobuf.ts`. Shares no code with the decoders but the .proto.
 */

import { ExportTraceServiceRequest } from "../../proto/otlp_traces.ts";
import type { RowObject } from "../../shared/columns/rows.ts";
import {
  bytes,
  decodeMessage,
  fill,
  json,
  lastByName,
  list,
  type Message,
  nanos,
  objectText,
} from "./values_reference.ts";

const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const STATUS_CODES = ["UNSET", "OK", "ERROR"];

/** Throws an `Error` when the request must be refused. */
export function referenceRows(body: Uint8Array, nowNs: bigint): RowObject[] {
  const request = decodeMessage(ExportTraceServiceRequest, body);
  const rows: RowObject[] = [];
  for (const resourceSpans of list(request.resourceSpans)) {
    const resource = lastByName(list((resourceSpans.resource as Message)?.attributes));
    const service = fill(resource, "service.name") ?? "unknown";
    for (const scopeSpans of list(resourceSpans.scopeSpans)) {
      const scope = (scopeSpans.scope ?? {}) as Message;
      const shared = {
        service,
        scope_name: String(scope.name ?? "") || null,
        scope_version: String(scope.version ?? "") || null,
        resource_attributes: resource.size === 0 ? null : attributesText(resource),
      };
      const scopeAttributes = lastByName(list(scope.attributes));
      for (const span of list(scopeSpans.spans)) {
        rows.push({ ...shared, ...rowOf(span, scopeAttributes, nowNs) });
      }
    }
  }
  return rows;
}

type Attributes = ReadonlyMap<string, Message | undefined>;

function rowOf(span: Message, scope: Attributes, nowNs: bigint): RowObject {
  const start = nanos(span.startTimeUnixNano);
  const end = nanos(span.endTimeUnixNano);
  const time = start || end || nowNs;
  const status = (span.status ?? {}) as Message;
  const events = list(span.events).map(eventText);
  const links = list(span.links).map(linkText);
  return {
    timestamp: time / 1000n,
    timestamp_ns: time,
    trace_id: idOf(span.traceId, 16),
    span_id: idOf(span.spanId, 8),
    parent_span_id: /^0*$/.test(idOrNone(span.parentSpanId, 8)) ? null : hex(span.parentSpanId),
    name: String(span.name ?? ""),
    kind: enumName("SPAN_KIND_", KINDS, Number(span.kind ?? 0)),
    status_code: enumName("STATUS_CODE_", STATUS_CODES, Number(status.code ?? 0)),
    status_message: String(status.message ?? "") || null,
    duration_nanos: start !== 0n && end > start ? end - start : 0n,
    trace_state: String(span.traceState ?? "") || null,
    attributes: spanAttributes(span, scope),
    events: events.length === 0 ? null : `[${events.join(",")}]`,
    links: links.length === 0 ? null : `[${links.join(",")}]`,
  };
}

function spanAttributes(span: Message, scope: Attributes): string | null {
  const members = new Map<string, string>();
  const put = (name: string, text: string) => {
    members.delete(name);
    members.set(name, text);
  };
  for (const [name, value] of lastByName(list(span.attributes))) put(name, json(value, 0));
  for (const [name, value] of scope) put(`scope.${name}`, json(value, 0));
  if (span.flags) put("flags", String(span.flags));
  if (span.droppedAttributesCount) {
    put("dropped_attributes_count", String(span.droppedAttributesCount));
  }
  if (span.droppedEventsCount) put("dropped_events_count", String(span.droppedEventsCount));
  if (span.droppedLinksCount) put("dropped_links_count", String(span.droppedLinksCount));
  return members.size === 0 ? null : objectText(members);
}

function eventText(event: Message): string {
  return objectText(
    new Map([
      ["time_unix_nano", JSON.stringify(String(nanos(event.timeUnixNano)))],
      ["name", JSON.stringify(String(event.name ?? ""))],
      ["attributes", attributesText(lastByName(list(event.attributes)))],
      ...countMember("dropped_attributes_count", event.droppedAttributesCount),
    ]),
  );
}

function linkText(link: Message): string {
  const traceState = String(link.traceState ?? "");
  return objectText(
    new Map([
      ["trace_id", JSON.stringify(idOrNone(link.traceId, 16))],
      ["span_id", JSON.stringify(idOrNone(link.spanId, 8))],
      ...(traceState === "" ? [] : [["trace_state", JSON.stringify(traceState)] as const]),
      ["attributes", attributesText(lastByName(list(link.attributes)))],
      ...countMember("dropped_attributes_count", link.droppedAttributesCount),
      ...countMember("flags", link.flags),
    ]),
  );
}

function countMember(name: string, value: unknown): (readonly [string, string])[] {
  return value ? [[name, String(value)]] : [];
}

function attributesText(attributes: Attributes): string {
  return objectText(new Map([...attributes].map(([name, value]) => [name, json(value, 0)])));
}

function idOf(value: unknown, length: number): string {
  const text = idOrNone(value, length);
  if (/^0*$/.test(text)) throw new Error("an id of zeros, or none");
  return text;
}

function idOrNone(value: unknown, length: number): string {
  const text = hex(value);
  if (text !== "" && text.length !== 2 * length) throw new Error(`an id of ${text.length} digits`);
  return text;
}

function hex(value: unknown): string {
  return bytes(value)?.toString("hex") ?? "";
}

function enumName(prefix: string, names: readonly string[], value: number): string {
  const name = names[value];
  return name === undefined ? String(value) : prefix + name;
}

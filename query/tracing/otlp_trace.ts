/**
 * Traces as Jaeger's v3 API writes them: OTLP's `TracesData` in its JSON form. 64-bit numbers are
 * decimal texts, enums are numbers, ids are hexadecimal. A scope and a resource stand once each
 * where their spans are alike.
 *
 * Rows tell neither bytes from their base64 text nor a double without a fraction from an integer.
 * Both come back as the latter (README.md).
 */

import { attributeValue } from "./attribute_value.ts";
import {
  type Attribute,
  attributesOf,
  eventsOf,
  linksOf,
  type Span,
  type SpanAttributes,
  spanAttributesOf,
} from "./span.ts";
import type { Trace } from "./traces.ts";

const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
  .map((name) => `SPAN_KIND_${name}`);
const STATUS_CODES = ["UNSET", "OK", "ERROR"].map((name) => `STATUS_CODE_${name}`);

/** The JSON text of `TracesData` in pieces. */
export function* otlpTraces(traces: readonly Trace<Span>[]): Generator<string> {
  yield '{"resourceSpans":[';
  let separator = "";
  for (const { spans } of traces) {
    for (const [, ofResource] of Map.groupBy(spans, resourceKey)) {
      yield separator;
      yield* resourceSpans(ofResource);
      separator = ",";
    }
  }
  yield "]}";
}

function resourceKey({ service, resourceAttributes }: Span): string {
  return JSON.stringify([service, resourceAttributes]);
}

/** The members of `resourceSpans`: one for the spans of each resource. */
function* resourceSpans(spans: readonly Span[]): Generator<string> {
  const [first] = spans;
  if (first === undefined) return;
  const resource: Attribute[] = [["service.name", first.service]];
  resource.push(...attributesOf(first.resourceAttributes));
  yield `{"resource":${JSON.stringify({ attributes: keyValues(resource) })},"scopeSpans":[`;
  const read = spans.map((span) => ({ span, attributes: spanAttributesOf(span) }));
  let separator = "";
  for (const [, ofScope] of Map.groupBy(read, scopeKey)) {
    yield separator;
    yield* scopeSpans(ofScope);
    separator = ",";
  }
  yield "]}";
}

interface ReadSpan {
  readonly span: Span;
  readonly attributes: SpanAttributes;
}

function scopeKey({ span, attributes }: ReadSpan): string {
  return JSON.stringify([span.scopeName, span.scopeVersion, keyValues(attributes.scope)]);
}

function* scopeSpans(spans: readonly ReadSpan[]): Generator<string> {
  const [first] = spans;
  if (first === undefined) return;
  const { scopeName, scopeVersion } = first.span;
  const scope = {
    ...(scopeName === null ? {} : { name: scopeName }),
    ...(scopeVersion === null ? {} : { version: scopeVersion }),
    ...attributesMember(first.attributes.scope),
  };
  yield `{"scope":${JSON.stringify(scope)},"spans":[`;
  let separator = "";
  for (const { span, attributes } of spans) {
    yield separator + JSON.stringify(otlpSpan(span, attributes));
    separator = ",";
  }
  yield "]}";
}

function otlpSpan(span: Span, attributes: SpanAttributes) {
  const events = eventsOf(span);
  const links = linksOf(span);
  const code = numberOf(STATUS_CODES, span.statusCode);
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.traceState === null ? {} : { traceState: span.traceState }),
    ...(span.parentSpanId === null ? {} : { parentSpanId: span.parentSpanId }),
    ...countMember("flags", attributes.flags),
    name: span.name,
    kind: numberOf(KINDS, span.kind),
    startTimeUnixNano: String(span.startNs),
    endTimeUnixNano: String(span.startNs + span.durationNs),
    ...attributesMember(attributes.own),
    ...countMember("droppedAttributesCount", attributes.droppedAttributes),
    ...(events.length === 0 ? {} : { events: events.map(otlpEvent) }),
    ...countMember("droppedEventsCount", attributes.droppedEvents),
    ...(links.length === 0 ? {} : { links: links.map(otlpLink) }),
    ...countMember("droppedLinksCount", attributes.droppedLinks),
    status: {
      ...(span.statusMessage === null ? {} : { message: span.statusMessage }),
      ...(code === 0 ? {} : { code }),
    },
  };
}

function otlpEvent(event: ReturnType<typeof eventsOf>[number]) {
  return {
    timeUnixNano: String(event.timeNs),
    name: event.name,
    ...attributesMember(event.attributes),
    ...countMember("droppedAttributesCount", event.droppedAttributes),
  };
}

function otlpLink(link: ReturnType<typeof linksOf>[number]) {
  return {
    traceId: link.traceId,
    spanId: link.spanId,
    ...(link.traceState === undefined ? {} : { traceState: link.traceState }),
    ...attributesMember(link.attributes),
    ...countMember("droppedAttributesCount", link.droppedAttributes),
    ...countMember("flags", link.flags),
  };
}

/** The number of an enum's name. A number without a name is stored as its own text. */
function numberOf(names: readonly string[], text: string): number {
  const at = names.indexOf(text);
  return at >= 0 ? at : Number(text) || 0;
}

function countMember(name: string, count: number | undefined): Readonly<Record<string, number>> {
  return count === undefined ? {} : { [name]: count };
}

function attributesMember(attributes: readonly Attribute[]) {
  return attributes.length === 0 ? {} : { attributes: keyValues(attributes) };
}

function keyValues(attributes: readonly Attribute[]) {
  return attributes.map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: unknown): Readonly<Record<string, unknown>> {
  const typed = attributeValue(value);
  switch (typed.type) {
    case "string":
      return { stringValue: typed.value };
    case "bool":
      return { boolValue: typed.value };
    case "int64":
      return { intValue: String(typed.value) };
    case "float64":
      return { doubleValue: typed.value };
    case "list":
      return { arrayValue: { values: typed.value.map(anyValue) } };
    case "object":
      return { kvlistValue: { values: keyValues(Object.entries(typed.value)) } };
  }
}

/**
 * A trace as Jaeger's v1 API writes it (its `uimodel`), made from stored spans: typed tags, events
 * as logs, links as references, each process once. Fields that are no tags in OTLP become tags.
 * Their names are those of OpenTelemetry's mapping to other formats.
 *
 * One span becomes text at a time, so that only texts are held of a large trace.
 */

import { losslessJson } from "../../shared/iceberg/lossless_json.ts";
import { attributeValue } from "./attribute_value.ts";
import {
  type Attribute,
  attributesOf,
  eventsOf,
  kindWord,
  linksOf,
  type Span,
  type SpanAttributes,
  spanAttributesOf,
} from "./span.ts";
import { shortTraceId } from "./trace_id.ts";
import type { Trace } from "./traces.ts";

interface Tag {
  readonly key: string;
  readonly type: "string" | "bool" | "int64" | "float64";
  readonly value: string | boolean | number;
}

const NS_PER_US = 1_000n;
/** The one trace flag that Jaeger and OpenTelemetry have in common. */
const SAMPLED = 1;

/** The trace's JSON text in pieces. */
export function* jaegerTrace({ id, spans }: Trace<Span>): Generator<string> {
  const processes = new Processes();
  yield `{"traceID":"${shortTraceId(id)}","spans":[`;
  let separator = "";
  for (const span of spans) {
    yield separator + JSON.stringify(jaegerSpan(span, processes.idOf(span)));
    separator = ",";
  }
  yield `],"processes":${JSON.stringify(processes.all())},"warnings":null}`;
}

function jaegerSpan(span: Span, processID: string) {
  const attributes = spanAttributesOf(span);
  const { flags } = attributes;
  return {
    traceID: shortTraceId(span.traceId),
    spanID: span.spanId,
    ...(flags === undefined ? {} : { flags: flags & SAMPLED }),
    operationName: span.name,
    references: references(span),
    startTime: micros(span.startNs),
    duration: micros(span.durationNs),
    tags: spanTags(span, attributes),
    logs: eventsOf(span).map(({ timeNs, name, attributes, droppedAttributes }) => ({
      timestamp: micros(timeNs),
      fields: [
        ...textTag("event", name === "" ? null : name),
        ...attributes.map(tagOf),
        ...countTag("otel.dropped_attributes_count", droppedAttributes),
      ],
    })),
    processID,
    warnings: null,
  };
}

function references(span: Span) {
  const parent = span.parentSpanId === null ? [] : [
    { refType: "CHILD_OF", traceID: shortTraceId(span.traceId), spanID: span.parentSpanId },
  ];
  const links = linksOf(span).map(({ traceId, spanId }) => ({
    refType: "FOLLOWS_FROM",
    traceID: shortTraceId(traceId),
    spanID: spanId,
  }));
  return [...parent, ...links];
}

function spanTags(span: Span, attributes: SpanAttributes): Tag[] {
  const { scopeName, scopeVersion, statusCode } = span;
  const status = /^STATUS_CODE_(?!UNSET)(\w+)$/.exec(statusCode)?.[1] ?? null;
  const error: Tag[] = status === "ERROR" ? [{ key: "error", type: "bool", value: true }] : [];
  return [
    ...textTag("otel.scope.name", scopeName),
    ...textTag("otel.scope.version", scopeVersion),
    ...textTag("otel.library.name", scopeName),
    ...textTag("otel.library.version", scopeVersion),
    ...attributes.own.map(tagOf),
    ...attributes.scope.map(([name, value]) => tagOf([`scope.${name}`, value])),
    ...textTag("span.kind", kindWord(span.kind) || null),
    ...textTag("otel.status_code", status),
    ...error,
    ...textTag("otel.status_description", span.statusMessage),
    ...textTag("w3c.tracestate", span.traceState),
    ...countTag("otel.dropped_attributes_count", attributes.droppedAttributes),
    ...countTag("otel.dropped_events_count", attributes.droppedEvents),
    ...countTag("otel.dropped_links_count", attributes.droppedLinks),
  ];
}

function textTag(key: string, value: string | null): Tag[] {
  return value === null ? [] : [{ key, type: "string", value }];
}

function countTag(key: string, value: number | undefined): Tag[] {
  return value === undefined ? [] : [{ key, type: "int64", value }];
}

/**
 * A list or an object becomes its JSON text. An integer past 2^53 becomes text, because as a number
 * it would be read as another one.
 */
function tagOf([key, value]: Attribute): Tag {
  const typed = attributeValue(value);
  switch (typed.type) {
    case "list":
    case "object":
      return { key, type: "string", value: losslessJson(typed.value) };
    case "int64":
      return typeof typed.value === "bigint"
        ? { key, type: "int64", value: String(typed.value) }
        : { key, type: "int64", value: typed.value };
    default:
      return { key, ...typed };
  }
}

function micros(ns: bigint): number {
  return Number(ns / NS_PER_US);
}

/** Who emitted spans: each pair of a service and a set of resource attributes once. */
class Processes {
  readonly #ids = new Map<string, string>();
  readonly #processes: Record<string, { serviceName: string; tags: readonly Tag[] }> = {};

  idOf({ service, resourceAttributes }: Span): string {
    const key = JSON.stringify([service, resourceAttributes]);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = `p${this.#ids.size + 1}`;
    this.#ids.set(key, id);
    const tags = attributesOf(resourceAttributes).map(tagOf);
    this.#processes[id] = { serviceName: service, tags };
    return id;
  }

  all(): Readonly<Record<string, unknown>> {
    return this.#processes;
  }
}

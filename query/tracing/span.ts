/** A stored span as trace lookup reads it: the row, and what its JSON texts hold. */

import { assert } from "../../shared/base/assert.ts";
import { parseLosslessJson } from "../../shared/iceberg/lossless_json.ts";
import { isJsonObject } from "../../shared/document/json_object.ts";

/** What a summary needs of a span. */
export interface SpanOutline {
  /** The id as it is stored: 32 digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** null: the span is a root. */
  readonly parentSpanId: string | null;
  readonly service: string;
  readonly name: string;
  /** `SPAN_KIND_SERVER` and so on, or a number as text. */
  readonly kind: string;
  /** `STATUS_CODE_ERROR` and so on, or a number as text. */
  readonly statusCode: string;
  readonly startNs: bigint;
  readonly durationNs: bigint;
}

/** A whole span, with JSON texts that are not parsed yet. */
export interface Span extends SpanOutline {
  readonly statusMessage: string | null;
  readonly traceState: string | null;
  readonly scopeName: string | null;
  readonly scopeVersion: string | null;
  /** JSON object of the resource without `service.name`. */
  readonly resourceAttributes: string | null;
  /** JSON texts. */
  readonly attributes: string | null;
  readonly events: string | null;
  readonly links: string | null;
}

/** A member of a JSON object; a number is a double, or an integer that is safe, or a `bigint`. */
export type Attribute = readonly [name: string, value: unknown];

/** `attributes` of a row taken apart: the ingest server writes its members in this order. */
export interface SpanAttributes {
  readonly own: readonly Attribute[];
  readonly scope: readonly Attribute[];
  readonly flags: number | undefined;
  readonly droppedAttributes: number | undefined;
  readonly droppedEvents: number | undefined;
  readonly droppedLinks: number | undefined;
}

/** An event of a span. Its time is in Unix nanoseconds. */
export interface SpanEvent {
  readonly timeNs: bigint;
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly droppedAttributes: number | undefined;
}

/** A link of a span to another one. Ids are hexadecimal. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string | undefined;
  readonly attributes: readonly Attribute[];
  readonly droppedAttributes: number | undefined;
  readonly flags: number | undefined;
}

const TEXT_OR_NULL = (value: unknown) => value === null ? null : String(value);

/** Outline of a row with the outline's columns: `trace_statements.ts` has their order. */
export function outlineOfRow(row: readonly unknown[]): SpanOutline {
  const [traceId, spanId, parentSpanId, service, name, kind, statusCode, startNs, durationNs] = row;
  return {
    traceId: String(traceId),
    spanId: String(spanId),
    parentSpanId: TEXT_OR_NULL(parentSpanId),
    service: String(service),
    name: String(name),
    kind: String(kind),
    statusCode: String(statusCode),
    startNs: BigInt(String(startNs)),
    durationNs: BigInt(String(durationNs)),
  };
}

/** Span of a row with all columns. */
export function spanOfRow(row: readonly unknown[]): Span {
  const details = row.slice(9).map(TEXT_OR_NULL);
  const [statusMessage, traceState, scopeName, scopeVersion, attributes, resource, events, links] =
    details;
  assert(links !== undefined, "a row of a whole span has 17 columns");
  return {
    ...outlineOfRow(row),
    statusMessage: statusMessage ?? null,
    traceState: traceState ?? null,
    scopeName: scopeName ?? null,
    scopeVersion: scopeVersion ?? null,
    attributes: attributes ?? null,
    resourceAttributes: resource ?? null,
    events: events ?? null,
    links: links ?? null,
  };
}

/** `server` of `SPAN_KIND_SERVER`; empty when the span does not say. */
export function kindWord(kind: string): string {
  return /^SPAN_KIND_(?!UNSPECIFIED)(\w+)$/.exec(kind)?.[1]?.toLowerCase() ?? "";
}

/**
 * Members of a JSON object's text, in its order. There are none for null, and for what is no
 * object.
 */
export function attributesOf(text: string | null): Attribute[] {
  return text === null ? [] : membersOf(parseJson(text));
}

const SCOPE_PREFIX = "scope.";
const COUNT_MAX = 0xffff_ffff;

/**
 * The span's own attributes, its scope's and its counts, which stand in this order. So the last
 * members are taken for what their names say. A span is misread when its own last attributes have
 * such names and the fields are not set.
 */
export function spanAttributesOf({ attributes }: Span): SpanAttributes {
  const members = attributesOf(attributes);
  const droppedLinks = takeCount(members, "dropped_links_count");
  const droppedEvents = takeCount(members, "dropped_events_count");
  const droppedAttributes = takeCount(members, "dropped_attributes_count");
  const flags = takeCount(members, "flags");
  let scopeFrom = members.length;
  while (scopeFrom > 0 && members[scopeFrom - 1]?.[0].startsWith(SCOPE_PREFIX)) scopeFrom -= 1;
  const scope = members.slice(scopeFrom)
    .map(([name, value]): Attribute => [name.slice(SCOPE_PREFIX.length), value]);
  const own = members.slice(0, scopeFrom);
  return { own, scope, flags, droppedAttributes, droppedEvents, droppedLinks };
}

/** The events of a span, in their order. */
export function eventsOf({ events }: Span): SpanEvent[] {
  return elementsOf(events).map((event) => ({
    timeNs: nanosOf(event["time_unix_nano"]),
    name: textOf(event["name"]),
    attributes: membersOf(event["attributes"]),
    droppedAttributes: countOf(event["dropped_attributes_count"]),
  }));
}

/**
 * Links that lead to a span. A link without ids cannot be followed, and strict clients refuse a
 * trace that has one.
 */
export function linksOf({ links }: Span): SpanLink[] {
  return elementsOf(links).map((link) => ({
    traceId: textOf(link["trace_id"]),
    spanId: textOf(link["span_id"]),
    traceState: link["trace_state"] === undefined ? undefined : textOf(link["trace_state"]),
    attributes: membersOf(link["attributes"]),
    droppedAttributes: countOf(link["dropped_attributes_count"]),
    flags: countOf(link["flags"]),
  })).filter(({ traceId, spanId }) => isId(traceId, 32) && isId(spanId, 16));
}

function isId(text: string, digits: number): boolean {
  return text.length === digits && /[^0]/.test(text);
}

/** Takes the last member off when it is the count of this name. */
function takeCount(members: Attribute[], name: string): number | undefined {
  const [last, value] = members.at(-1) ?? [];
  const count = last === name ? countOf(value) : undefined;
  if (count !== undefined) members.pop();
  return count;
}

function countOf(value: unknown): number | undefined {
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0 &&
    value <= COUNT_MAX;
  return isCount ? value : undefined;
}

function nanosOf(value: unknown): bigint {
  return typeof value === "string" && /^\d{1,19}$/.test(value) ? BigInt(value) : 0n;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function elementsOf(text: string | null): readonly Readonly<Record<string, unknown>>[] {
  const parsed = text === null ? [] : parseJson(text);
  return Array.isArray(parsed) ? parsed.filter(isJsonObject) : [];
}

function membersOf(value: unknown): Attribute[] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

/**
 * Only a run of so many digits can be a number that a double does not hold. The exact parser is the
 * slower one.
 */
function parseJson(text: string): unknown {
  return /\d{16}/.test(text) ? parseLosslessJson(text) : JSON.parse(text);
}

/**
 * The SQL of trace lookup. What a request says stands in it as quoted text or as digits, never
 * otherwise. Nothing else keeps a parameter from being SQL, and the engine's gate stands behind it.
 *
 * Predicates are written plainly (`trace_id = '…'`, `service = '…'`, bounds of `timestamp_ns`). In
 * that form the engine leaves out files and row groups.
 */

import { quoteName, quoteText } from "../../shared/engine/duckdb/statement_text.ts";
import type { SpanConditions, TimeSpan } from "./search_request.ts";

/**
 * Columns of a whole span, in the order of `spanRow`; 64-bit numbers as text, which JSON parsers
 * keep.
 */
const SPAN_COLUMNS = [
  "trace_id",
  "span_id",
  "parent_span_id",
  "service",
  "name",
  "kind",
  "status_code",
  "timestamp_ns::VARCHAR",
  "duration_nanos::VARCHAR",
];
const DETAIL_COLUMNS = [
  "status_message",
  "trace_state",
  "scope_name",
  "scope_version",
  "attributes",
  "resource_attributes",
  "events",
  "links",
];

/** Spans of some traces. `outline` leaves out what only a whole trace shows. */
export function spansSql(
  index: string,
  wanted: {
    /** The ids as they are stored; at least one. */
    readonly ids: readonly string[];
    readonly range: Partial<TimeSpan>;
    readonly outline: boolean;
  },
): string {
  const columns = wanted.outline ? SPAN_COLUMNS : [...SPAN_COLUMNS, ...DETAIL_COLUMNS];
  const where = [isOneOf("trace_id", wanted.ids), ...inside(wanted.range)];
  // DuckDB judges IN after it has read all columns, and `list_contains` before.
  if (wanted.ids.length > 1 && wanted.ids.length <= IDS_LISTED_MAX) {
    where.push(`list_contains([${wanted.ids.map(quoteText).join(", ")}], trace_id)`);
  }
  // Under the engine's LIMIT, DuckDB would scan on one thread to keep an order that nobody wants.
  return `SELECT ${columns.join(", ")} FROM ${quoteName(index)} WHERE ${where.join(" AND ")} ` +
    "ORDER BY timestamp_ns";
}

/**
 * Up to this many ids are compared one by one, which costs less than reading every column of every
 * row.
 */
const IDS_LISTED_MAX = 32;

/** When the first and the last span of some traces start; null when there is none. */
export function extentSql(
  index: string,
  { ids, range }: { readonly ids: readonly string[]; readonly range: Partial<TimeSpan> },
): string {
  const where = [isOneOf("trace_id", ids), ...inside(range)];
  return "SELECT min(timestamp_ns)::VARCHAR, max(timestamp_ns)::VARCHAR " +
    `FROM ${quoteName(index)} WHERE ${where.join(" AND ")}`;
}

/**
 * The newest `limit` traces with a span that meets the conditions and starts in `range`: id, newest
 * start.
 */
export function matchesSql(
  index: string,
  conditions: SpanConditions,
  { range, limit }: { readonly range: TimeSpan; readonly limit: number },
): string {
  const where = [...inside(range), ...conditionsSql(conditions)];
  return `SELECT trace_id, max(timestamp_ns)::VARCHAR FROM ${quoteName(index)} ` +
    `WHERE ${where.join(" AND ")} GROUP BY trace_id ` +
    `ORDER BY max(timestamp_ns) DESC, trace_id LIMIT ${limit}`;
}

/**
 * Each service, and how often it occurs. A statement of this form is answered from counts where
 * there are any.
 */
export function servicesSql(index: string): string {
  return `SELECT service, count(*) FROM ${quoteName(index)} GROUP BY service`;
}

/** Name and kind of one service's operations. */
export function operationsSql(index: string, service: string): string {
  return `SELECT DISTINCT name, kind FROM ${quoteName(index)} WHERE ${isText("service", service)}`;
}

/**
 * The parent's service, the child's service and the number of calls. A span that was sent twice
 * counts once.
 */
export function dependenciesSql(index: string, range: TimeSpan): string {
  return "WITH spans AS (SELECT DISTINCT trace_id, span_id, parent_span_id, service " +
    `FROM ${quoteName(index)} WHERE ${inside(range).join(" AND ")}) ` +
    "SELECT parent.service, child.service, count(*) FROM spans AS child JOIN spans AS parent " +
    "ON child.trace_id = parent.trace_id AND child.parent_span_id = parent.span_id " +
    "WHERE child.service <> parent.service GROUP BY parent.service, child.service";
}

function inside({ minNs, maxNs }: Partial<TimeSpan>): string[] {
  return [
    ...(minNs === undefined ? [] : [`timestamp_ns >= ${minNs}`]),
    ...(maxNs === undefined ? [] : [`timestamp_ns <= ${maxNs}`]),
  ];
}

function conditionsSql(conditions: SpanConditions): string[] {
  const { service, operation, tags, durationNsMin, durationNsMax } = conditions;
  return [
    ...(service === undefined ? [] : [isText("service", service)]),
    ...(operation === undefined ? [] : [isText("name", operation)]),
    ...(durationNsMin === undefined ? [] : [`duration_nanos >= ${durationNsMin}`]),
    ...(durationNsMax === undefined ? [] : [`duration_nanos <= ${durationNsMax}`]),
    ...[...tags].map(([name, value]) => tagSql(name, value)),
  ];
}

/**
 * A tag is an attribute of the span, its scope or its resource, or a field that is shown as one.
 */
function tagSql(name: string, value: string): string {
  const attribute = ["attributes", "resource_attributes"].map((column) => {
    const isValue = `attr_get(${column}, ${quoteText(name)}) = ${quoteText(value)}`;
    // Looking for a text is cheaper than reading JSON.
    return isLiteralInJson(value)
      ? `(contains(${column}, ${quoteText(value)}) AND ${isValue})`
      : isValue;
  });
  return `(${[...shownFieldSql(name, value), ...attribute].join(" OR ")})`;
}

/**
 * Whether an attribute with this value has just these letters in the JSON that the ingest server
 * writes. That holds for a text without anything to escape, and for an integer. Fractions have
 * several spellings.
 */
function isLiteralInJson(value: string): boolean {
  return /^[\w .:-]+$/.test(value) && (/^-?\d{1,15}$/.test(value) || !/^[-\d.eE]+$/.test(value));
}

/** Fields of a span that are shown as tags: `jaeger_trace.ts`. */
function shownFieldSql(name: string, value: string): string[] {
  switch (name) {
    case "error":
      return value === "true" ? ["status_code = 'STATUS_CODE_ERROR'"] : [];
    case "span.kind":
      return [isText("kind", `SPAN_KIND_${value.toUpperCase()}`)];
    case "otel.status_code":
      return [isText("status_code", `STATUS_CODE_${value.toUpperCase()}`)];
    case "otel.status_description":
      return [isText("status_message", value)];
    case "otel.scope.name":
    case "otel.library.name":
      return [isText("scope_name", value)];
    case "otel.scope.version":
    case "otel.library.version":
      return [isText("scope_version", value)];
    case "w3c.tracestate":
      return [isText("trace_state", value)];
    case "service.name":
      return [isText("service", value)];
    default:
      return [];
  }
}

function isText(column: string, value: string): string {
  return `${column} = ${quoteText(value)}`;
}

function isOneOf(column: string, values: readonly string[]): string {
  const [only] = values;
  return values.length === 1 && only !== undefined
    ? isText(column, only)
    : `${column} IN (${values.map(quoteText).join(", ")})`;
}

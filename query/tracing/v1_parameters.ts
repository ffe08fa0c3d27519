/** Parameters of Jaeger's v1 routes. README.md has the table. */

import { NS_PER_MS } from "../../shared/base/time.ts";
import { parseTraceId } from "./trace_id.ts";
import {
  addJsonTags,
  badParameter,
  countOf,
  durationOf,
  given,
  MICROSECONDS,
  MILLISECONDS,
  missingParameter,
  refuseContradictions,
  switchOf,
  unixTimeOf,
} from "./query_parameters.ts";
import type { TimeSpan, TraceSearch } from "./search_request.ts";

const DAY_NS = 86_400_000n * NS_PER_MS;
/** How far back a search looks when it does not say. */
const LOOKBACK_NS = 2n * DAY_NS;
const DEPENDENCY_LOOKBACK_NS = DAY_NS;

/** A search, or some traces by their ids. */
export type V1TracesRequest =
  | { readonly kind: "search"; readonly search: TraceSearch }
  | { readonly kind: "ids"; readonly ids: readonly string[]; readonly hint: Partial<TimeSpan> };

/** Parses a search, or ids of traces. Errors: `invalid_argument`. */
export function parseV1Traces(params: URLSearchParams, nowNs: bigint): V1TracesRequest {
  const ids = params.getAll("traceID").filter((text) => text !== "").map(parseTraceId);
  if (ids.length > 0) return { kind: "ids", ids: [...new Set(ids)], hint: parseV1Hint(params) };
  const service = given(params, "service")?.value;
  if (service === undefined) throw missingParameter("parameter service, or traceID");
  const operation = given(params, "operation")?.value;
  const durationNsMin = durationOf(params, "minDuration");
  const durationNsMax = durationOf(params, "maxDuration");
  const search: TraceSearch = {
    service,
    ...(operation === undefined ? {} : { operation }),
    tags: v1Tags(params),
    ...(durationNsMin === undefined ? {} : { durationNsMin }),
    ...(durationNsMax === undefined ? {} : { durationNsMax }),
    range: rangeOf(params, nowNs),
    limit: countOf(params, "limit"),
  };
  switchOf(params, "raw");
  refuseContradictions(search, search.range, {
    duration: ["minDuration", "maxDuration"],
    time: ["start", "end"],
  });
  return { kind: "search", search };
}

/** Where a trace that is asked by its id is thought to lie. Errors: `invalid_argument`. */
export function parseV1Hint(params: URLSearchParams): Partial<TimeSpan> {
  switchOf(params, "raw");
  const minNs = unixTimeOf(params, "start", MICROSECONDS);
  const maxNs = endOf(params);
  return {
    ...(minNs === undefined ? {} : { minNs }),
    ...(maxNs === undefined ? {} : { maxNs }),
  };
}

/** The time of `/api/dependencies`: milliseconds. Errors: `invalid_argument`. */
export function parseV1Dependencies(params: URLSearchParams, nowNs: bigint): TimeSpan {
  const maxNs = unixTimeOf(params, "endTs", MILLISECONDS) ?? nowNs;
  const lookbackNs = unixTimeOf(params, "lookback", MILLISECONDS) ?? DEPENDENCY_LOOKBACK_NS;
  return { minNs: lookbackNs > maxNs ? 0n : maxNs - lookbackNs, maxNs };
}

/** Whether the answer is indented: with any value but `false`, which is Jaeger's rule. */
export function wantsPretty(params: URLSearchParams): boolean {
  const value = given(params, "prettyPrint")?.value;
  return value !== undefined && value !== "false";
}

function rangeOf(params: URLSearchParams, nowNs: bigint): TimeSpan {
  const minNs = unixTimeOf(params, "start", MICROSECONDS);
  return { minNs: minNs ?? nowNs - LOOKBACK_NS, maxNs: endOf(params) ?? nowNs };
}

/** The last nanosecond of the microsecond `end`. */
function endOf(params: URLSearchParams): bigint | undefined {
  const ns = unixTimeOf(params, "end", MICROSECONDS);
  return ns === undefined ? undefined : ns + MICROSECONDS.ns - 1n;
}

/**
 * Tags of `tag=key:value`, any number of them, then of `tags={"key":"value"}`. A later value of a
 * name replaces an earlier one.
 */
function v1Tags(params: URLSearchParams): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  for (const value of params.getAll("tag")) {
    const colon = value.indexOf(":");
    if (colon < 0) throw badParameter({ name: "tag", value }, "it is key:value");
    tags.set(value.slice(0, colon), value.slice(colon + 1));
  }
  for (const value of params.getAll("tags")) {
    if (value !== "") addJsonTags(tags, { name: "tags", value });
  }
  return tags;
}

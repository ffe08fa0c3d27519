/**
 * Parameters of Jaeger's v3 routes: in camel case, and in the snake case of older clients.
 * README.md has the table.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { parseRfc3339Ns, TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import {
  addJsonTags,
  badParameter,
  countOf,
  durationOf,
  given,
  missingParameter,
  refuseContradictions,
  switchOf,
} from "./query_parameters.ts";
import type { TimeSpan, TraceSearch } from "./search_request.ts";

const TIME_MIN = ["query.startTimeMin", "query.start_time_min"] as const;
const TIME_MAX = ["query.startTimeMax", "query.start_time_max"] as const;
const PAGE_TOKEN = "query.pagination.pageToken";
const PAGE_SIZE = "query.pagination.pageSize";

/**
 * Parses a search. `pages` says whether the route knows pages; there is only ever the first.
 * Errors: `invalid_argument`.
 */
export function parseV3Search(
  params: URLSearchParams,
  { pages }: { readonly pages: boolean },
): TraceSearch {
  refuseUnknownConditions(params, pages);
  const service = given(params, "query.serviceName", "query.service_name")?.value;
  const operation = given(
    params,
    ...["query.operationName", "query.operation_name", "query.span_name"],
  )?.value;
  const durationNsMin = durationOf(params, "query.durationMin", "query.duration_min");
  const durationNsMax = durationOf(params, "query.durationMax", "query.duration_max");
  const minNs = rfc3339Of(params, ...TIME_MIN);
  const endNs = rfc3339Of(params, ...TIME_MAX);
  if (minNs === undefined || endNs === undefined) {
    throw missingParameter(`${TIME_MIN[0]} and ${TIME_MAX[0]}`);
  }
  const tags = new Map<string, string>();
  const attributes = given(params, "query.attributes");
  if (attributes !== undefined) addJsonTags(tags, attributes);
  switchOf(params, "query.rawTraces", "query.raw_traces");
  const search: TraceSearch = {
    ...(service === undefined ? {} : { service }),
    ...(operation === undefined ? {} : { operation }),
    tags,
    ...(durationNsMin === undefined ? {} : { durationNsMin }),
    ...(durationNsMax === undefined ? {} : { durationNsMax }),
    // The range ends before `endNs`.
    range: { minNs, maxNs: endNs - 1n },
    limit: countOf(
      params,
      ...["query.searchDepth", "query.search_depth", "query.num_traces", PAGE_SIZE],
    ),
  };
  refuseContradictions(search, search.range, {
    duration: ["query.durationMin", "query.durationMax"],
    time: [TIME_MIN[0], TIME_MAX[0]],
  });
  return search;
}

/** Where a trace that is asked by its id is thought to lie. Errors: `invalid_argument`. */
export function parseV3Hint(params: URLSearchParams): Partial<TimeSpan> {
  switchOf(params, "rawTraces", "raw_traces");
  const minNs = rfc3339Of(params, "startTime", "start_time");
  const maxNs = rfc3339Of(params, "endTime", "end_time");
  return {
    ...(minNs === undefined ? {} : { minNs }),
    ...(maxNs === undefined ? {} : { maxNs }),
  };
}

/** The time of `/api/v3/dependencies`. Errors: `invalid_argument`. */
export function parseV3Dependencies(params: URLSearchParams): TimeSpan {
  const minNs = rfc3339Of(params, "startTime", "start_time");
  const endNs = rfc3339Of(params, "endTime", "end_time");
  if (minNs === undefined || endNs === undefined) throw missingParameter("startTime and endTime");
  const range = { minNs, maxNs: endNs - 1n };
  refuseContradictions({ tags: new Map() }, range, {
    duration: ["", ""],
    time: ["startTime", "endTime"],
  });
  return range;
}

/** Leaving a condition out would answer more than was asked for. */
function refuseUnknownConditions(params: URLSearchParams, pages: boolean): void {
  const filter = given(params, "query.filter");
  if (filter !== undefined) {
    throw badParameter(
      filter,
      "structured filters are not answered here; use query.attributes, durations and names",
    );
  }
  const token = given(params, PAGE_TOKEN);
  if (token !== undefined) {
    throw badParameter(token, "no answer here has a next page; narrow the time instead");
  }
  const size = given(params, PAGE_SIZE);
  const depth = given(params, "query.searchDepth", "query.search_depth", "query.num_traces");
  if (size === undefined || (pages && depth === undefined)) return;
  throw new OperatingError(
    "invalid_argument",
    `Cannot use ${PAGE_SIZE} ${JSON.stringify(size.value)}: ` +
      (pages ? `${depth?.name} is given too, leave one out` : "use query.searchDepth"),
    { reason: "bad_parameter" },
  );
}

function rfc3339Of(params: URLSearchParams, ...names: readonly string[]): bigint | undefined {
  const found = given(params, ...names);
  if (found === undefined) return undefined;
  // Some clients write the zone's plus as it is. In an address that is a space.
  const ns = parseRfc3339Ns(found.value.replace(/ (?=\d\d:?\d\d$)/, "+"));
  if (ns === undefined || ns < 0n || ns > TIMESTAMP_NS_MAX) {
    throw badParameter(
      found,
      "it is an RFC 3339 time from 1970 to 2262, such as 2026-11-20T21:04:05.123456789Z",
    );
  }
  return ns;
}

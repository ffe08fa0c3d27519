/** What a trace route does between its address and its answer, and what both APIs' routes share. */

import { OperatingError } from "../../shared/base/errors.ts";
import type { TraceEndpoint } from "./metrics.ts";
import { type NameCache, operations } from "./name_lists.ts";
import { given, missingParameter } from "./query_parameters.ts";
import { SEARCH_LIMIT_DEFAULT, type TimeSpan, type TraceSearch } from "./search_request.ts";
import { kindWord } from "./span.ts";
import type { TraceAnswer } from "./trace_answers.ts";
import type { TraceCall } from "./trace_call.ts";
import { dependenciesSql } from "./trace_statements.ts";

/** One route of one of Jaeger's APIs. */
export interface TraceHandler {
  /** The path after `/api/v1/tracing/{index}/api`. */
  readonly path: string;
  readonly endpoint: TraceEndpoint;
  /**
   * Reads the parameters before anything is reserved or planned, and returns what to do then.
   * Errors: `invalid_argument`.
   */
  plan(asked: TraceAsked): () => Promise<TraceAnswer>;
}

/** A request for a trace route, with its call and its parameters. */
export interface TraceAsked {
  readonly call: TraceCall;
  readonly params: URLSearchParams;
  /** Names in the path: `service` or `id`. */
  readonly names: Readonly<Record<string, string>>;
  readonly traceNames: NameCache;
}

/** How many traces a search may answer. Errors: `invalid_argument` past the ceiling. */
export function limitOf({ ceilings }: TraceCall, { limit }: TraceSearch): number {
  if (limit === undefined) return Math.min(SEARCH_LIMIT_DEFAULT, ceilings.traces);
  if (limit <= ceilings.traces) return limit;
  throw new OperatingError(
    "invalid_argument",
    `Cannot search for ${limit} traces: at most ${ceilings.traces} fit into what one request may ` +
      "reserve of the memory pool; ask for fewer",
    { reason: "limit_above_ceiling" },
  );
}

/**
 * Operations by Jaeger's words for kinds, each once. `kindless` is the word for a span that does
 * not say its kind.
 */
export async function spanKinds(
  { call, params, traceNames }: TraceAsked,
  asked: { readonly service: string; readonly kindless: string },
): Promise<{ readonly name: string; readonly spanKind: string }[]> {
  const wanted = given(params, "spanKind", "span_kind")?.value.toLowerCase();
  const known = new Map<string, { readonly name: string; readonly spanKind: string }>();
  for (const { name, kind } of await operations(call, traceNames, asked.service)) {
    const spanKind = kindWord(kind) || asked.kindless;
    if (wanted === undefined || spanKind === wanted) {
      known.set(JSON.stringify([name, spanKind]), { name, spanKind });
    }
  }
  return [...known.values()];
}

/** The service that the parameters name. Errors: `invalid_argument` without one. */
export function serviceParameter(params: URLSearchParams): string {
  const service = given(params, "service")?.value;
  if (service === undefined) throw missingParameter("parameter service");
  return service;
}

/** How often one service called another. */
export interface Dependency {
  readonly parent: string;
  readonly child: string;
  readonly callCount: number;
}

/** Which service calls which, by spans that start in `range`, the most calls first. */
export async function dependencies(call: TraceCall, range: TimeSpan): Promise<Dependency[]> {
  const { rows } = await call.rows(dependenciesSql(call.made.index, range), {
    rowsMax: call.ceilings.names,
    breaker: "jaeger_names",
  });
  return rows.map(([parent, child, callCount]) => ({
    parent: String(parent),
    child: String(child),
    callCount: Number(callCount),
  })).sort((a, b) => b.callCount - a.callCount || (a.parent < b.parent ? -1 : 1));
}

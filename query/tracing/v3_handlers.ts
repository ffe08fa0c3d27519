/** Jaeger's v3 routes, which current Jaeger UIs use. */

import {
  dependencies,
  limitOf,
  serviceParameter,
  spanKinds,
  type TraceAsked,
  type TraceHandler,
} from "./handler.ts";
import { serviceNames } from "./name_lists.ts";
import { readFoundOutlines, readFoundTraces, readTraces } from "./read_traces.ts";
import { searchTraces } from "./search_traces.ts";
import { type TraceAnswer, traceNotFound, v3Message, v3Traces } from "./trace_answers.ts";
import { parseTraceId } from "./trace_id.ts";
import { summaryOf } from "./trace_summary.ts";
import { countSpans } from "./traces.ts";
import { parseV3Dependencies, parseV3Hint, parseV3Search } from "./v3_parameters.ts";

export const V3_HANDLERS: readonly TraceHandler[] = [
  {
    path: "/v3/services",
    endpoint: "tracing_services",
    plan: ({ call, traceNames }) => async () =>
      v3Message({ services: await serviceNames(call, traceNames) }),
  },
  {
    path: "/v3/operations",
    endpoint: "tracing_operations",
    plan: (asked) => {
      const service = serviceParameter(asked.params);
      return async () =>
        v3Message({ operations: await spanKinds(asked, { service, kindless: "internal" }) });
    },
  },
  { path: "/v3/trace-summaries", endpoint: "tracing_search", plan: planSummaries },
  { path: "/v3/traces", endpoint: "tracing_search", plan: planSearch },
  { path: "/v3/traces/:id", endpoint: "tracing_trace", plan: planTrace },
  {
    path: "/v3/dependencies",
    endpoint: "tracing_dependencies",
    plan: ({ call, params }) => {
      const range = parseV3Dependencies(params);
      return async () => {
        const all = await dependencies(call, range);
        return v3Message({
          dependencies: all.map((one) => ({ ...one, callCount: String(one.callCount) })),
        });
      };
    },
  },
];

function planSummaries({ call, params }: TraceAsked): () => Promise<TraceAnswer> {
  const search = parseV3Search(params, { pages: true });
  const limit = limitOf(call, search);
  return async () => {
    const found = await searchTraces(call, search, limit);
    const traces = await readFoundOutlines(call, found);
    return { ...v3Message({ summaries: traces.map(summaryOf) }), spans: countSpans(traces) };
  };
}

function planSearch({ call, params }: TraceAsked): () => Promise<TraceAnswer> {
  const search = parseV3Search(params, { pages: false });
  const limit = limitOf(call, search);
  return async () => {
    const found = await searchTraces(call, search, limit);
    const traces = await readFoundTraces(call, found);
    if (traces.length === 0) throw traceNotFound();
    return v3Traces(traces);
  };
}

function planTrace({ call, params, names }: TraceAsked): () => Promise<TraceAnswer> {
  const id = parseTraceId(names["id"] ?? "");
  const hint = parseV3Hint(params);
  return async () => {
    const traces = await readTraces(call, [id], hint);
    if (traces.length === 0) throw traceNotFound();
    return v3Traces(traces);
  };
}

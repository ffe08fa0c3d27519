/** Jaeger's v1 routes, which Grafana's data source and older Jaeger UIs use. */

import {
  dependencies,
  limitOf,
  serviceParameter,
  spanKinds,
  type TraceAsked,
  type TraceHandler,
} from "./handler.ts";
import { operations, serviceNames } from "./name_lists.ts";
import { given } from "./query_parameters.ts";
import { readFoundTraces, readTraces } from "./read_traces.ts";
import { searchTraces } from "./search_traces.ts";
import { indented, type TraceAnswer, traceNotFound, v1List, v1Traces } from "./trace_answers.ts";
import { parseTraceId } from "./trace_id.ts";
import {
  parseV1Dependencies,
  parseV1Hint,
  parseV1Traces,
  type V1TracesRequest,
  wantsPretty,
} from "./v1_parameters.ts";

const HANDLERS: readonly TraceHandler[] = [
  {
    path: "/services",
    endpoint: "tracing_services",
    plan: ({ call, traceNames }) => async () => v1List(await serviceNames(call, traceNames)),
  },
  {
    // A slash of the service may come unencoded.
    path: "/services/:service{.+}/operations",
    endpoint: "tracing_operations",
    plan: ({ call, names, traceNames }) => async () => {
      const found = await operations(call, traceNames, names["service"] ?? "");
      return v1List([...new Set(found.map(({ name }) => name))]);
    },
  },
  {
    path: "/operations",
    endpoint: "tracing_operations",
    plan: (asked) => {
      const service = serviceParameter(asked.params);
      return async () => v1List(await spanKinds(asked, { service, kindless: "" }));
    },
  },
  {
    path: "/traces",
    endpoint: "tracing_search",
    plan: ({ call, params }) => {
      const request = parseV1Traces(params, call.nowNs);
      return request.kind === "ids" ? planIds({ call, request }) : planSearch({ call, request });
    },
  },
  { path: "/traces/:id", endpoint: "tracing_trace", plan: planTrace },
  {
    path: "/dependencies",
    endpoint: "tracing_dependencies",
    plan: ({ call, params }) => {
      const range = parseV1Dependencies(params, call.nowNs);
      const service = given(params, "service")?.value;
      return async () => {
        const all = await dependencies(call, range);
        const isOf = (name: string) => service === undefined || name === service;
        return v1List(all.filter(({ parent, child }) => isOf(parent) || isOf(child)));
      };
    },
  },
];

export const V1_HANDLERS: readonly TraceHandler[] = HANDLERS.map((handler) => ({
  ...handler,
  plan: (asked) => {
    const answer = handler.plan(asked);
    return wantsPretty(asked.params) ? async () => pretty(await answer()) : answer;
  },
}));

function pretty(answer: TraceAnswer): TraceAnswer {
  return { ...answer, pieces: indented(answer.pieces) };
}

function planIds(
  { call, request }: {
    readonly call: TraceAsked["call"];
    readonly request: Extract<V1TracesRequest, { kind: "ids" }>;
  },
): () => Promise<TraceAnswer> {
  const { ids, hint } = request;
  return async () => {
    const traces = await readTraces(call, ids, hint);
    const found = new Set(traces.map(({ id }) => id));
    return v1Traces(traces, ids.filter((id) => !found.has(id)));
  };
}

function planSearch(
  { call, request }: {
    readonly call: TraceAsked["call"];
    readonly request: Extract<V1TracesRequest, { kind: "search" }>;
  },
): () => Promise<TraceAnswer> {
  const limit = limitOf(call, request.search);
  return async () => {
    const found = await searchTraces(call, request.search, limit);
    return v1Traces(await readFoundTraces(call, found));
  };
}

function planTrace({ call, params, names }: TraceAsked): () => Promise<TraceAnswer> {
  const id = parseTraceId(names["id"] ?? "");
  const hint = parseV1Hint(params);
  return async () => {
    const traces = await readTraces(call, [id], hint);
    if (traces.length === 0) throw traceNotFound();
    return v1Traces(traces);
  };
}

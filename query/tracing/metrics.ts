/** Trace lookup in the metrics of the query server: values of labels. */

/** Routes in `svc_query_requests_total`, and in the audit. */
export const TRACE_ENDPOINTS = [
  "tracing_services",
  "tracing_operations",
  "tracing_search",
  "tracing_trace",
  "tracing_dependencies",
] as const;
export type TraceEndpoint = typeof TRACE_ENDPOINTS[number];

/**
 * Ceilings in `svc_query_breaker_trips_total`: traces, spans, bytes of rows, names. See
 * docs/api/query.md#trace-lookup.
 */
export const TRACE_BREAKERS = [
  "jaeger_traces",
  "jaeger_spans",
  "jaeger_bytes",
  "jaeger_names",
] as const;
export type TraceBreaker = typeof TRACE_BREAKERS[number];

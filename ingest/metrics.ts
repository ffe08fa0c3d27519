/**
 * Metrics of the ingest server; METRICS.md is this table. Labels take values of fixed sets only,
 * never a client's text; those of lanes are bounded (`wal_metrics.ts`). The compactor's count only
 * when one runs in this process.
 */

import { memoryMetrics } from "../shared/memory/memory_metrics.ts";
import { type IngestPart, MEMORY_PARTS } from "./memory_parts.ts";
import { CONNECTION_METRICS } from "../shared/http/connection_metrics.ts";
import { COMPACTOR_METRICS } from "../shared/upkeep/compactor_metrics.ts";
import type { BuildInfo, Metrics, MetricsOptions } from "../shared/metrics/metrics.ts";
import { createMetrics } from "../shared/metrics/metrics.ts";
import { DURATION_SECS_BUCKETS, type MetricTable, ROWS_BUCKETS } from "../shared/metrics/table.ts";
import { TENANT_REFUSALS } from "./tenant_resolution.ts";

/** Statuses that ingest routes answer: docs/api/ingest.md#statuses. */
const STATUSES = [
  ...["200", "201", "400", "401", "403", "404", "405", "413", "415", "422", "429"],
  ...["500", "501", "503", "504"],
] as const;

/** Status codes that gRPC calls are answered with. */
const GRPC_CODES = [
  ...["OK", "CANCELLED", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "PERMISSION_DENIED"],
  ...["RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE", "UNAUTHENTICATED", "UNIMPLEMENTED"],
] as const;

/** HTTP routes. */
const ENDPOINTS = [
  ...["logs", "traces", "bulk", "compat", "stream", "healthz", "readyz", "other"],
] as const;

/** Bounds for requests that are written together. */
const GROUP_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500] as const;

/** Whatever brings rows. */
const ROWS_ENDPOINTS = ["logs", "traces", "bulk", "grpc_logs", "grpc_traces"] as const;

export const METRICS = {
  ...CONNECTION_METRICS,
  ...COMPACTOR_METRICS,
  requests: {
    kind: "counter",
    name: "svc_ingest_requests_total",
    help: "Requests answered, by endpoint and status",
    labels: {
      endpoint: ENDPOINTS,
      status: STATUSES,
    },
  },
  requestSecs: {
    kind: "histogram",
    name: "svc_ingest_request_seconds",
    help: "From a request's head to its answer, by endpoint; of a stream to its beginning",
    labels: { endpoint: [...ENDPOINTS, "grpc_logs", "grpc_traces"] },
    buckets: DURATION_SECS_BUCKETS,
  },
  grpcCalls: {
    kind: "counter",
    name: "svc_ingest_grpc_calls_total",
    help: "Export calls ended, by endpoint and status code; CANCELLED by their senders",
    labels: { endpoint: ["grpc_logs", "grpc_traces"], code: GRPC_CODES },
  },
  events: {
    kind: "counter",
    name: "svc_ingest_events_total",
    help: "Rows acknowledged, by endpoint",
    labels: { endpoint: ROWS_ENDPOINTS },
  },
  bodyBytes: {
    kind: "counter",
    name: "svc_ingest_body_bytes_total",
    help: "Body bytes of decoded requests after decompression, by endpoint",
    labels: { endpoint: ROWS_ENDPOINTS },
  },
  bulkItems: {
    kind: "counter",
    name: "svc_ingest_bulk_items_total",
    help: "Actions of answered bulk requests: stored, refused for good, to be sent again",
    labels: { outcome: ["stored", "refused", "send_again"] },
  },
  streamReaders: {
    kind: "gauge",
    name: "svc_ingest_stream_readers",
    help: "Streams of GET /api/v1/stream open now",
  },
  streamEvents: {
    kind: "counter",
    name: "svc_ingest_stream_events_total",
    help: "Events given to streams, each once per stream",
  },
  streamLagged: {
    kind: "counter",
    name: "svc_ingest_stream_lagged_total",
    help: "Streams ended because their reader was too slow",
  },
  streamRefused: {
    kind: "counter",
    name: "svc_ingest_stream_refused_total",
    help: "Streams refused because there were too many or the server was stopping",
  },
  ...memoryMetrics<IngestPart>(MEMORY_PARTS),
  bodiesInFlight: {
    kind: "gauge",
    name: "svc_ingest_bodies_in_flight_bytes",
    help: "Body bytes held for requests in flight",
  },
  batchRows: {
    kind: "histogram",
    name: "svc_ingest_batch_rows",
    help: "Rows per appended request",
    buckets: ROWS_BUCKETS,
  },
  appendSecs: {
    kind: "histogram",
    name: "svc_ingest_append_seconds",
    help: "From encoded rows to the WAL's acknowledgement",
    buckets: DURATION_SECS_BUCKETS,
  },
  walRows: {
    kind: "counter",
    name: "svc_ingest_wal_rows_total",
    help: "Rows written to the WAL, by what was waited for",
    labels: { mode: ["auto", "wait_for"] },
  },
  laneRows: {
    kind: "counter",
    name: "svc_ingest_lane_rows_total",
    help: "Rows written to the WAL, by tenant and index; lanes past the first 100 share one series",
    labels: { tenant: [], index: [] },
  },
  walBytes: {
    kind: "counter",
    name: "svc_ingest_wal_bytes_total",
    help: "Bytes written to the WAL, by what was waited for",
    labels: { mode: ["auto", "wait_for"] },
  },
  walWaitSecs: {
    kind: "histogram",
    name: "svc_ingest_wal_wait_seconds",
    help: "How long the first request of a group waited in its lane until the group was written",
    buckets: DURATION_SECS_BUCKETS,
  },
  walGroupRequests: {
    kind: "histogram",
    name: "svc_ingest_wal_group_requests",
    help: "Requests whose rows were written to the WAL together",
    buckets: GROUP_BUCKETS,
  },
  walSyncSecs: {
    kind: "histogram",
    name: "svc_ingest_wal_sync_seconds",
    help: "Duration of one group commit's sync",
    buckets: DURATION_SECS_BUCKETS,
  },
  walSegments: {
    kind: "counter",
    name: "svc_ingest_wal_segments_total",
    help:
      "Segments by what happened: sealed in order; adopted from an interrupted writer, of those " +
      "cut behind their last intact frame; poisoned because undecodable",
    labels: { outcome: ["sealed", "adopted", "cut", "poisoned"] },
  },
  walCutBytes: {
    kind: "counter",
    name: "svc_ingest_wal_cut_bytes_total",
    help: "Bytes cut off interrupted segments; none of them was acknowledged with wait_for",
  },
  walFailures: {
    kind: "counter",
    name: "svc_ingest_wal_failures_total",
    help: "Times that a lane began to refuse rows after a failed write or sync",
  },
  walSegmentsNow: {
    kind: "gauge",
    name: "svc_ingest_wal_segments",
    help: "Segments on disk now, by state",
    labels: { state: ["active", "sealed", "poison"] },
  },
  mirrorSegments: {
    kind: "counter",
    name: "svc_ingest_mirror_segments_total",
    help:
      "Segments whose turn for the mirror came: uploaded, skipped because their rows were committed " +
      "by then, or copied while they were being written",
    labels: { outcome: ["uploaded", "skipped", "copied"] },
  },
  mirrorBytes: {
    kind: "counter",
    name: "svc_ingest_mirror_bytes_total",
    help: "Bytes uploaded to the mirror, segments packed",
  },
  mirrorFailures: {
    kind: "counter",
    name: "svc_ingest_mirror_failures_total",
    help: "Rounds of the mirror that ended with an error; the next one comes after a pause",
  },
  mirrorPendingSegments: {
    kind: "gauge",
    name: "svc_ingest_mirror_pending_segments",
    help: "Sealed segments that are not in the mirror",
  },
  mirrorPendingBytes: {
    kind: "gauge",
    name: "svc_ingest_mirror_pending_bytes",
    help: "Bytes of sealed segments that are not in the mirror",
  },
  mirrorLagSecs: {
    kind: "gauge",
    name: "svc_ingest_mirror_lag_seconds",
    help: "Age of the oldest sealed segment that is not in the mirror; 0 without any",
  },
  tenantDenied: {
    kind: "counter",
    name: "svc_ingest_tenant_denied_total",
    help: "Requests refused because of their tenant, by reason",
    labels: {
      reason: TENANT_REFUSALS,
    },
  },
  rateLimitRejected: {
    kind: "counter",
    name: "svc_ingest_rate_limit_rejected_total",
    help: "Requests refused because their sender exceeded --ingest-rate-per-sec",
  },
  rateLimitUnchecked: {
    kind: "counter",
    name: "svc_ingest_rate_limit_unchecked_total",
    help: "Requests judged by this process's own budgets alone because Redis could not be asked",
  },
  rateLimitAwaySecs: {
    kind: "gauge",
    name: "svc_ingest_rate_limit_away_seconds",
    help:
      "How long Redis has not answered, so that each replica limits rates on its own; 0 while it answers",
  },
  backpressureRejected: {
    kind: "counter",
    name: "svc_ingest_backpressure_rejected_total",
    help: "Writes refused because their tenant's queue was full",
  },
  repeats: {
    kind: "counter",
    name: "svc_ingest_idempotent_repeats_total",
    help: "Appends answered without storing, because their idempotency key had stored them before",
  },
  backpressureQueued: {
    kind: "gauge",
    name: "svc_ingest_backpressure_queued",
    help: "Writes that wait for the WAL now, of all tenants; 0 without a capacity",
  },
  memBreakerOpen: {
    kind: "gauge",
    name: "svc_ingest_mem_breaker_open",
    help: "1 while rows are refused because memory is at or above --ingest-mem-limit-mib",
  },
  laneRefused: {
    kind: "counter",
    name: "svc_ingest_lane_refused_total",
    help: "Requests refused because they would have opened a lane past --ingest-max-lanes",
  },
  forceCommits: {
    kind: "counter",
    name: "svc_ingest_force_commits_total",
    help: "Requests with commit=force that reached the WAL, by what they saw of their commit",
    labels: { outcome: ["observed", "timeout"] },
  },
  ready: {
    kind: "gauge",
    name: "svc_ingest_ready",
    help: "1 when rows can be accepted durably, as /readyz answers",
  },
} as const satisfies MetricTable;

export type IngestMetrics = Metrics<typeof METRICS>;

/** The metrics of an ingest server, in a registry of their own. */
export function createIngestMetrics(build: BuildInfo, options?: MetricsOptions): IngestMetrics {
  return createMetrics(METRICS, build, options);
}

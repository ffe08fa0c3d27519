/**
 * Metrics of the query server. Names that are promised in `metrics_test.ts` stay; the rest follow
 * them.
 */

import { CONNECTION_METRICS } from "../../shared/http/connection_metrics.ts";
import { UNAUTHENTICATED_REASONS } from "../../shared/auth/bearer_tokens.ts";
import type { ServedBy } from "../../shared/engine/types.ts";
import { type BuildInfo, createMetrics, type Metrics } from "../../shared/metrics/metrics.ts";
import {
  DURATION_SECS_BUCKETS,
  type MetricTable,
  ROWS_BUCKETS,
} from "../../shared/metrics/table.ts";
import { ADMISSION_METRICS } from "../admission/admission_metrics.ts";
import { AUDIT_METRICS } from "../audit/metrics.ts";
import { BREAKER_METRICS } from "./breaker_metrics.ts";
import { ENGINE_METRICS } from "./engine_metrics.ts";
import { INDEX_METRICS } from "./index_metrics.ts";
import { DISTRIBUTED_METRICS } from "../distributed/distributed_metrics.ts";
import { JOB_METRICS } from "../jobs/metrics.ts";
import { HOT_CACHE_METRICS } from "./hot_cache_metrics.ts";
import { OBJECT_CACHE_METRICS } from "./object_cache_metrics.ts";
import { SCAN_FILE_CACHE_METRICS } from "./scan_file_cache_metrics.ts";
import { MEMORY_METRICS } from "../memory/memory_metrics.ts";
import { TAIL_METRICS } from "../tail/metrics.ts";
import { TRACE_ENDPOINTS } from "../tracing/metrics.ts";

/** How a request for SQL ended. `timeout`: the wall clock ran out. */
const OUTCOMES = ["ok", "truncated", "refused", "failed", "timeout", "cancelled"] as const;
export type Outcome = typeof OUTCOMES[number];

const ENDPOINTS = [
  "sql",
  "sql_local",
  "sql_explain",
  "pg",
  "sql_distributed",
  "sql_shard",
  "fields",
  "field_values",
  "tail",
  ...TRACE_ENDPOINTS,
] as const;
export type Endpoint = typeof ENDPOINTS[number];

/** `ServedBy`, each with its series from the start. */
const SERVED_BY = [
  "scan",
  "tier1_inline",
  "tier1_wide",
  "tier1_windowed_agg",
  "materialized",
  "sketch",
] as const satisfies readonly ServedBy[];

/**
 * Why a caller could not be known: the reasons of a 401, and of the 503 while the issuer is away.
 */
export const AUTH_FAILURES = [...UNAUTHENTICATED_REASONS, "issuer_unavailable"] as const;

/** Why a known caller may read nothing: docs/api/README.md#tenants-on-query. */
const TENANT_REFUSALS = ["claim_missing", "claim_invalid", "not_allowed"] as const;
export type TenantRefusal = typeof TENANT_REFUSALS[number];

export const METRICS = {
  ...CONNECTION_METRICS,
  requests: {
    kind: "counter",
    name: "svc_query_requests_total",
    help: "Requests for rows, fields and traces by route and by how they ended",
    labels: { endpoint: ENDPOINTS, outcome: OUTCOMES },
  },
  durationSecs: {
    kind: "histogram",
    name: "svc_query_duration_seconds",
    help: "Time from a request's arrival to the end of its answer",
    buckets: [...DURATION_SECS_BUCKETS, 60, 300],
  },
  rowsReturned: {
    kind: "histogram",
    name: "svc_query_rows_returned",
    help: "Rows in an answer",
    buckets: [...ROWS_BUCKETS, 1_000_000],
  },
  inFlight: {
    kind: "gauge",
    name: "svc_query_in_flight",
    help: "Statements being prepared, run or sent now",
  },
  defaultOrderApplied: {
    kind: "counter",
    name: "svc_query_default_order_applied_total",
    help: "Bare SELECTs that were ordered newest-first",
  },
  served: {
    kind: "counter",
    name: "svc_query_served_total",
    help: "Statements that were run, by what answers them: stats.served_by",
    labels: { served_by: SERVED_BY },
  },
  ...TAIL_METRICS,
  ...BREAKER_METRICS,
  authFailures: {
    kind: "counter",
    name: "svc_query_auth_failures_total",
    help:
      "Requests whose caller could not be known, by reason; issuer_unavailable is a 503, the others 401",
    labels: { reason: AUTH_FAILURES },
  },
  tenantDenied: {
    kind: "counter",
    name: "svc_query_tenant_denied_total",
    help: "Requests refused because of their tenant, by reason",
    labels: { reason: TENANT_REFUSALS },
  },
  rateLimitRejected: {
    kind: "counter",
    name: "svc_query_rate_limit_rejected_total",
    help: "Requests refused because their caller's rate budget was exhausted",
  },
  damagedFiles: {
    kind: "counter",
    name: "svc_query_damaged_files_total",
    help:
      "Stored files that failed a checksum: statements that need them fail, or lack their rows with --skip-damaged-files",
  },
  walDamages: {
    kind: "counter",
    name: "svc_query_wal_damages_total",
    help: "Times that a part of a WAL segment could not be read: answers lack its rows",
  },
  ...AUDIT_METRICS,
  ...MEMORY_METRICS,
  ...ADMISSION_METRICS,
  ...ENGINE_METRICS,
  ...JOB_METRICS,
  ...DISTRIBUTED_METRICS,
  ...HOT_CACHE_METRICS,
  ...OBJECT_CACHE_METRICS,
  ...SCAN_FILE_CACHE_METRICS,
  ...INDEX_METRICS,
} as const satisfies MetricTable;

export type QueryMetrics = Metrics<typeof METRICS>;

/** All metrics of a query server, each at zero. */
export function createQueryMetrics(build: BuildInfo): QueryMetrics {
  return createMetrics(METRICS, build);
}

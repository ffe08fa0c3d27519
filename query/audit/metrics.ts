/** What is counted of the audit; `query/METRICS.md` lists it. */

import type { MetricTable } from "../../shared/metrics/table.ts";

export const DROP_REASONS = [
  "oversized",
  "row_limit",
  "byte_limit",
  "channel_full",
  "worker_shutdown",
  "append",
  "append_deadline",
] as const;
export type DropReason = typeof DROP_REASONS[number];

export const FAILURE_REASONS = ["build", "append", "append_deadline"] as const;
export type FailureReason = typeof FAILURE_REASONS[number];

export const AUDIT_METRICS = {
  auditDropped: {
    kind: "counter",
    name: "svc_query_audit_dropped_total",
    help: "Rows of query_audit that were dropped, by reason",
    labels: { reason: DROP_REASONS },
  },
  auditFailures: {
    kind: "counter",
    name: "svc_query_audit_failures_total",
    help: "Batches of query_audit that were abandoned, by reason",
    labels: { reason: FAILURE_REASONS },
  },
} as const satisfies MetricTable;

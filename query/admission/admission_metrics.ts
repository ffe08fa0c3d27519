/** Metrics of admission and of the memory pool behind it. */

import { DURATION_SECS_BUCKETS, type MetricTable } from "../../shared/metrics/table.ts";

export const ADMISSION_METRICS = {
  admissionBudgetBytes: {
    kind: "gauge",
    name: "svc_query_admission_budget_bytes",
    help: "What admitted statements may reserve together: the memory pool",
  },
  admissionReservedBytes: {
    kind: "gauge",
    name: "svc_query_admission_reserved_bytes",
    help: "What admitted statements reserve now, by their price",
  },
  admissionWaiting: {
    kind: "gauge",
    name: "svc_query_admission_waiting",
    help: "Statements that wait for a reservation now",
  },
  admissionWaitSecs: {
    kind: "histogram",
    name: "svc_query_admission_wait_seconds",
    help: "Time that a statement waited for its reservation, also in vain",
    buckets: DURATION_SECS_BUCKETS,
  },
  admissionRejected: {
    kind: "counter",
    name: "svc_query_admission_rejected_total",
    help:
      "Statements refused with 429, by what was missing: memory, a connection of DuckDB, or a scheduler slot for an expensive one",
    labels: { resource: ["memory", "connections", "dear_statements"] },
  },
  engineWaiting: {
    kind: "gauge",
    name: "svc_query_engine_waiting",
    help:
      "Statements that wait for a scheduler slot now: light are cheap ones or to be planned, dear are expensive, batch are of jobs",
    labels: { line: ["light", "dear", "batch"] },
  },
  poolBytes: {
    kind: "gauge",
    name: "svc_query_memory_pool_bytes",
    help: "What DuckDB holds of its memory pool now, caches included",
  },
  spillBytes: {
    kind: "gauge",
    name: "svc_query_spill_bytes",
    help: "What lies in spill files now",
  },
} as const satisfies MetricTable;

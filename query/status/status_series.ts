/** What the status tells over time: one table of series, each made of one metric of one role. */

export const STATUS_ROLES = ["ingest", "compactor", "query"] as const;
export type StatusRole = typeof STATUS_ROLES[number];

export interface StatusSeries {
  readonly name: string;
  readonly role: StatusRole;
  readonly metric: string;
  /** Only series of the metric with this label count. */
  readonly label?: readonly [name: string, value: string];
  /** `rate`: growth a second of a counter. Else the gauge itself. */
  readonly kind: "rate" | "gauge";
  /** What the metric's several series make together. */
  readonly of: "sum" | "max";
  readonly unit: "rows" | "bytes" | "requests" | "seconds" | "segments" | "statements";
  readonly help: string;
}

export const STATUS_SERIES: readonly StatusSeries[] = [
  {
    name: "ingest_rows",
    role: "ingest",
    metric: "svc_ingest_wal_rows_total",
    kind: "rate",
    of: "sum",
    unit: "rows",
    help: "Rows that senders wrote, a second",
  },
  {
    name: "ingest_bytes",
    role: "ingest",
    metric: "svc_ingest_wal_bytes_total",
    kind: "rate",
    of: "sum",
    unit: "bytes",
    help: "Bytes written to the WAL, a second",
  },
  {
    name: "ingest_requests",
    role: "ingest",
    metric: "svc_ingest_requests_total",
    kind: "rate",
    of: "sum",
    unit: "requests",
    help: "Requests to the ingest server, a second",
  },
  {
    name: "wal_sealed_segments",
    role: "ingest",
    metric: "svc_ingest_wal_segments",
    label: ["state", "sealed"],
    kind: "gauge",
    of: "sum",
    unit: "segments",
    help: "Sealed segments of the WAL on disk",
  },
  {
    name: "committed_rows",
    role: "compactor",
    metric: "svc_drain_rows_total",
    kind: "rate",
    of: "sum",
    unit: "rows",
    help: "Rows committed to tables, a second",
  },
  {
    name: "backlog_bytes",
    role: "compactor",
    metric: "svc_drain_lag_bytes",
    kind: "gauge",
    of: "sum",
    unit: "bytes",
    help: "Bytes of the WAL that wait for a commit",
  },
  {
    name: "backlog_age",
    role: "compactor",
    metric: "svc_drain_lag_seconds",
    kind: "gauge",
    of: "max",
    unit: "seconds",
    help: "Age of the oldest segment that waits for a commit",
  },
  {
    name: "query_requests",
    role: "query",
    metric: "svc_query_requests_total",
    kind: "rate",
    of: "sum",
    unit: "requests",
    help: "Statements and trace requests, a second",
  },
  {
    name: "query_busy",
    role: "query",
    metric: "svc_query_duration_seconds_sum",
    kind: "rate",
    of: "sum",
    unit: "statements",
    help: "Statements at work, on average",
  },
  {
    name: "query_waiting",
    role: "query",
    metric: "svc_query_engine_waiting",
    kind: "gauge",
    of: "sum",
    unit: "statements",
    help: "Statements that wait for their turn",
  },
  {
    name: "query_admission_waiting",
    role: "query",
    metric: "svc_query_admission_waiting",
    kind: "gauge",
    of: "sum",
    unit: "statements",
    help: "Statements that wait for memory",
  },
  ...STATUS_ROLES.map((role): StatusSeries => ({
    name: `${role}_memory`,
    role,
    metric: "svc_memory_resident_bytes",
    kind: "gauge",
    of: "sum",
    unit: "bytes",
    help: `Resident memory, ${role}`,
  })),
];

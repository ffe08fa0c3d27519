/** Metrics of the limits that stop a statement or a trace lookup while it runs. */

import type { MetricTable } from "../../shared/metrics/table.ts";
import { TRACE_BREAKERS } from "../tracing/metrics.ts";

export const BREAKER_METRICS = {
  breakerTrips: {
    kind: "counter",
    name: "svc_query_breaker_trips_total",
    help: "Queries stopped by a limit, by limit",
    labels: {
      breaker: [
        "pool_exhausted",
        "resident_memory",
        "midflight_rows_scanned",
        "stalled_reader",
        ...TRACE_BREAKERS,
      ],
    },
  },
} as const satisfies MetricTable;

/** Tails in the metrics of the query server. */

import type { MetricTable } from "../../shared/metrics/table.ts";

/** What becomes of rows that a tail meets. */
const TAIL_ROWS = ["sent", "skipped", "lost"] as const;

export const TAIL_METRICS = {
  tails: {
    kind: "gauge",
    name: "svc_query_tails",
    help: "Tails that are open now",
  },
  tailRows: {
    kind: "counter",
    name: "svc_query_tail_rows_total",
    help:
      "Rows of tails: sent, skipped because of max_rows_per_second or their size, and lost by readers that were slow",
    labels: { fate: TAIL_ROWS },
  },
} as const satisfies MetricTable;

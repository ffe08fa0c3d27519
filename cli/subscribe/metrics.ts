/** Metrics of `svc subscribe`: docs/api/follow.md#subscribe. */

import { CONNECTION_METRICS } from "../../shared/http/connection_metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";

export const SUBSCRIPTION_METRICS = {
  ...CONNECTION_METRICS,
  rewritesSkipped: {
    kind: "counter",
    name: "svc_subscription_rewrite_commits_skipped_total",
    help:
      "Commits that a subscription passed over as they added no rows; svc: our own merges, retention and deletes",
    labels: { table: [], origin: ["svc", "foreign"] },
  },
  historyGaps: {
    kind: "counter",
    name: "svc_subscription_history_gap_total",
    help: "Polls that failed because snapshots had expired which the subscription had not read",
  },
  rows: {
    kind: "counter",
    name: "svc_subscription_rows_total",
    help: "Rows delivered",
    labels: { table: [] },
  },
} as const satisfies MetricTable;

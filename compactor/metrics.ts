/** Metrics of the compactor: of its drain, of the delete tasks that it carries out, and of maintenance. */

import { DELETE_METRICS } from "../shared/maintenance/delete_metrics.ts";
import { DRAIN_METRICS } from "../shared/maintenance/drain_metrics.ts";
import { MAINTENANCE_METRICS } from "../shared/maintenance/maintenance_metrics.ts";
import { type BuildInfo, createMetrics, type Metrics } from "../shared/metrics/metrics.ts";
import type { MetricTable } from "../shared/metrics/table.ts";

export const COMPACTOR_METRICS = {
  ready: {
    kind: "gauge",
    name: "svc_compactor_ready",
    help:
      "1 when it drains and maintains, as /readyz answers; 0 while it waits for the catalog to start",
  },
  ...DRAIN_METRICS,
  ...DELETE_METRICS,
  ...MAINTENANCE_METRICS,
} as const satisfies MetricTable;

export type CompactorMetrics = Metrics<typeof COMPACTOR_METRICS>;

export function createCompactorMetrics(build: BuildInfo): CompactorMetrics {
  return createMetrics(COMPACTOR_METRICS, build);
}

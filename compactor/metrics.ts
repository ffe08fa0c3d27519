/**
 * Metrics of the compactor as a process: what it does (`COMPACTOR_METRICS`), and whether it can.
 */

import { CONNECTION_METRICS } from "../shared/http/connection_metrics.ts";
import { memoryMetrics } from "../shared/memory/memory_metrics.ts";
import { COMPACTOR_METRICS } from "../shared/upkeep/compactor_metrics.ts";
import {
  type BuildInfo,
  createMetrics,
  type Metrics,
  type MetricsOptions,
} from "../shared/metrics/metrics.ts";
import type { MetricTable } from "../shared/metrics/table.ts";
import { type CompactorPart, MEMORY_PARTS } from "./memory_parts.ts";

export const METRICS = {
  ...CONNECTION_METRICS,
  ready: {
    kind: "gauge",
    name: "svc_compactor_ready",
    help:
      "1 when it drains and maintains, as /readyz answers; 0 while it waits for the catalog to start",
  },
  ...memoryMetrics<CompactorPart>(MEMORY_PARTS),
  ...COMPACTOR_METRICS,
} as const satisfies MetricTable;

export type CompactorMetrics = Metrics<typeof METRICS>;

/** The metrics of a compactor, in a registry of their own. */
export function createCompactorMetrics(
  build: BuildInfo,
  options?: MetricsOptions,
): CompactorMetrics {
  return createMetrics(METRICS, build, options);
}

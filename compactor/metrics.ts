/** Metrics of the compactor: those of its drain. */

import { DRAIN_METRICS } from "../shared/maintenance/drain_metrics.ts";
import { type BuildInfo, createMetrics, type Metrics } from "../shared/metrics/metrics.ts";

export type CompactorMetrics = Metrics<typeof DRAIN_METRICS>;

export function createCompactorMetrics(build: BuildInfo): CompactorMetrics {
  return createMetrics(DRAIN_METRICS, build);
}

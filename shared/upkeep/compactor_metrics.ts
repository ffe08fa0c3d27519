/**
 * Metrics of all that a compactor does, and the observers that count it: the same wherever it runs.
 */

import type { MetricHandles } from "../metrics/metrics.ts";
import { gaugeLostThreads, LOST_THREAD_METRICS } from "../metrics/lost_threads.ts";
import type { MetricTable } from "../metrics/table.ts";
import { countDeletes, DELETE_METRICS } from "./delete_metrics.ts";
import type { DeleteObserver } from "./delete_task.ts";
import { countDrain, DRAIN_METRICS } from "../drain/drain_metrics.ts";
import type { DrainObserver } from "../drain/drain_observer.ts";
import { countMaintenance, MAINTENANCE_METRICS } from "./maintenance_metrics.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";

export const COMPACTOR_METRICS = {
  ...DRAIN_METRICS,
  ...DELETE_METRICS,
  ...MAINTENANCE_METRICS,
  ...LOST_THREAD_METRICS,
} as const satisfies MetricTable;

/** Observers of what a compactor did. */
export interface CompactorObservers {
  readonly drain: DrainObserver;
  readonly deletes: DeleteObserver;
  readonly maintenance: MaintenanceObserver;
}

/** Observers that count what a compactor does. */
export function countCompactor(
  metrics: MetricHandles<typeof COMPACTOR_METRICS>,
): CompactorObservers {
  gaugeLostThreads(metrics);
  return {
    drain: countDrain(metrics),
    deletes: countDeletes(metrics),
    maintenance: countMaintenance(metrics),
  };
}

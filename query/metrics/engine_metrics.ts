/** Metrics of the processes that DuckDB runs in. */

import { ENGINE_NAMES, type EngineName } from "../../shared/engine/duckdb/open_databases.ts";
import { ENGINE_ENDS } from "../../shared/engine/duckdb/process/engine_client.ts";
import type { ProcessMeter } from "../../shared/engine/duckdb/process/process_driver.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";
import type { BREAKER_METRICS } from "./breaker_metrics.ts";

export const ENGINE_METRICS = {
  engineRestarts: {
    kind: "counter",
    name: "svc_query_engine_restarts_total",
    help:
      "DuckDB processes that were replaced. deadline: a statement went on after its interrupt. memory: it took too much. " +
      "silent: it did not answer. exited: it ended by itself",
    labels: { engine: ENGINE_NAMES, reason: ENGINE_ENDS },
  },
} as const satisfies MetricTable;

/** Counts what becomes of DuckDB's processes. */
export function processMeter(
  metrics: MetricHandles<typeof ENGINE_METRICS & typeof BREAKER_METRICS>,
): ProcessMeter {
  return {
    ended: (engine, reason) =>
      metrics.engineRestarts.add(1, { engine: engine as EngineName, reason }),
    tooLarge: () => metrics.breakerTrips.at({ breaker: "resident_memory" }).add(1),
  };
}

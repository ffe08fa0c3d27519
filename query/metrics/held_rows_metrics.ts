/**
 * Metrics of the rows that are held in memory; all zero where none are, as with a memory pool below
 * 1 GiB.
 */

import type { HeldRowsMeter } from "../../shared/engine/held_rows/held_rows.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";

export const HELD_ROWS_METRICS = {
  heldRowsBytes: {
    kind: "gauge",
    name: "svc_query_held_rows_bytes",
    help:
      "Bytes of data files' rows in memory for ordered scans, about; they are part of the memory pool",
  },
  heldRowsLimitBytes: {
    kind: "gauge",
    name: "svc_query_held_rows_limit_bytes",
    help: "Bytes that rows in memory may take; 0 where none are kept",
  },
  heldRowsBlocks: {
    kind: "gauge",
    name: "svc_query_held_rows_blocks",
    help: "Blocks of rows in memory",
  },
  heldRowsLookups: {
    kind: "counter",
    name: "svc_query_held_rows_lookups_total",
    help:
      "Blocks of rows that statements asked for, by whether they were in memory with the wanted columns",
    labels: { outcome: ["hit", "miss"] },
  },
  heldRowsEvicted: {
    kind: "counter",
    name: "svc_query_held_rows_evicted_total",
    help: "Blocks of rows in memory that made room for others",
  },
  heldRowsFailures: {
    kind: "counter",
    name: "svc_query_held_rows_failures_total",
    help:
      "Blocks of rows that could not be brought into memory; their data files are read as they are",
  },
} as const satisfies MetricTable;

/** Counts what becomes of rows in memory. */
export function heldRowsMeter(metrics: MetricHandles<typeof HELD_ROWS_METRICS>): HeldRowsMeter {
  return {
    limit: (bytes) => metrics.heldRowsLimitBytes.set(bytes, {}),
    lookedUp: (outcome) => metrics.heldRowsLookups.add(1, { outcome }),
    held: (bytes, blocks) => {
      metrics.heldRowsBytes.set(bytes, {});
      metrics.heldRowsBlocks.set(blocks, {});
    },
    evicted: (blocks) => metrics.heldRowsEvicted.add(blocks, {}),
    failed: () => metrics.heldRowsFailures.add(1, {}),
  };
}

/** Metrics of the cache of decoded source files; all zero where it is off. */

import type { DecodedCacheMeter } from "../../shared/engine/files/decoded_files/decoded_cache.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";

export const SCAN_FILE_CACHE_METRICS = {
  scanFileCacheBytes: {
    kind: "gauge",
    name: "svc_query_scan_file_cache_bytes",
    help: "Bytes of data files' columns that lie decompressed in the cache directory now",
  },
  scanFileCacheLimitBytes: {
    kind: "gauge",
    name: "svc_query_scan_file_cache_limit_bytes",
    help: "Bytes that the cache of decompressed columns may hold; 0 where it is off",
  },
  scanFileCacheEntries: {
    kind: "gauge",
    name: "svc_query_scan_file_cache_entries",
    help: "Sets of a data file's columns that lie decompressed in the cache directory now",
  },
  scanFileCacheFiles: {
    kind: "counter",
    name: "svc_query_scan_file_cache_files_total",
    help:
      "Data files that statements read, by whether the wanted columns were in the cache of decompressed columns",
    labels: { outcome: ["hit", "miss"] },
  },
  scanFileCacheEvicted: {
    kind: "counter",
    name: "svc_query_scan_file_cache_evicted_total",
    help: "Sets of decompressed columns that made room for others",
  },
  scanFileCacheFailures: {
    kind: "counter",
    name: "svc_query_scan_file_cache_failures_total",
    help:
      "Sets of decompressed columns that could not be written; their data files are read as they are",
  },
} as const satisfies MetricTable;

/** Counts what the cache of decoded columns does. */
export function scanFileCacheMeter(
  metrics: MetricHandles<typeof SCAN_FILE_CACHE_METRICS>,
): DecodedCacheMeter {
  return {
    lookedUp: (outcome) => metrics.scanFileCacheFiles.add(1, { outcome }),
    held: (bytes, entries) => {
      metrics.scanFileCacheBytes.set(bytes, {});
      metrics.scanFileCacheEntries.set(entries, {});
    },
    evicted: (entries) => metrics.scanFileCacheEvicted.add(entries, {}),
    failed: () => metrics.scanFileCacheFailures.add(1, {}),
  };
}

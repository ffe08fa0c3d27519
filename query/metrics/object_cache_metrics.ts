/**
 * Metrics of the cache of an object store's data files; all zero where the warehouse is a folder.
 */

import type { ObjectCacheMeter } from "../../shared/engine/files/data_files.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";

export const OBJECT_CACHE_METRICS = {
  objectCacheBytes: {
    kind: "gauge",
    name: "svc_query_object_cache_bytes",
    help: "Bytes of the object store's data files that lie in the cache directory now",
  },
  objectCacheLimitBytes: {
    kind: "gauge",
    name: "svc_query_object_cache_limit_bytes",
    help: "Bytes that the range cache keeps for later statements; running ones may hold more",
  },
  objectCacheFiles: {
    kind: "counter",
    name: "svc_query_object_cache_files_total",
    help:
      "Data files that statements read, by whether all that was needed of the file was in the range cache",
    labels: { outcome: ["hit", "miss"] },
  },
  objectCacheEvicted: {
    kind: "counter",
    name: "svc_query_object_cache_evicted_files_total",
    help: "Data files removed from the range cache to make room",
  },
  objectStoreReads: {
    kind: "counter",
    name: "svc_query_object_store_reads_total",
    help: "Read requests to the object store for statements, failed ones included",
  },
  objectStoreBytes: {
    kind: "counter",
    name: "svc_query_object_store_fetched_bytes_total",
    help: "Bytes that the object store answered, by what they are; other is table metadata, mostly",
    labels: { class: ["footer", "index", "data", "other"] },
  },
} as const satisfies MetricTable;

/** Counts what the range cache does. */
export function objectCacheMeter(
  metrics: MetricHandles<typeof OBJECT_CACHE_METRICS>,
): ObjectCacheMeter {
  return {
    held: (bytes) => metrics.objectCacheBytes.set(bytes, {}),
    evicted: (files) => metrics.objectCacheEvicted.add(files, {}),
    statementEnded: ({ requests, filesHit, filesMissed, bytes }) => {
      metrics.objectStoreReads.add(requests, {});
      metrics.objectCacheFiles.add(filesHit, { outcome: "hit" });
      metrics.objectCacheFiles.add(filesMissed, { outcome: "miss" });
      for (const [kind, count] of Object.entries(bytes)) {
        metrics.objectStoreBytes.add(count, { class: kind });
      }
    },
  };
}

/** Metrics of the hot caches; all zero without `--query-hot-caches`. */

import type { HotCacheMeter } from "../../shared/engine/hot_caches/hot_caches.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";

export const HOT_CACHE_METRICS = {
  hotCacheBytes: {
    kind: "gauge",
    name: "svc_query_hot_cache_bytes",
    help: "Bytes of the hot caches' summaries of WAL segments, about",
  },
  hotCacheSegments: {
    kind: "gauge",
    name: "svc_query_hot_cache_segments",
    help: "WAL segments that have a summary in the hot caches",
  },
  hotCacheAsked: {
    kind: "counter",
    name: "svc_query_hot_cache_segments_total",
    help:
      "WAL segments that calls of last_values and distinct_values asked about, by whether the summary was complete before",
    labels: { outcome: ["hit", "miss"] },
  },
} as const satisfies MetricTable;

/** Counts what the hot caches do. */
export function hotCacheMeter(metrics: MetricHandles<typeof HOT_CACHE_METRICS>): HotCacheMeter {
  return {
    held({ bytes, segments }) {
      metrics.hotCacheBytes.set(bytes, {});
      metrics.hotCacheSegments.set(segments, {});
    },
    asked({ hits, misses }) {
      metrics.hotCacheAsked.add(hits, { outcome: "hit" });
      metrics.hotCacheAsked.add(misses, { outcome: "miss" });
    },
  };
}

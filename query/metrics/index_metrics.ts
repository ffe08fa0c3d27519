/** Metrics of the indexes that statements ask which rows of a data file they need. */

import type { CacheMeter } from "../../shared/base/weighed_cache.ts";
import { type IndexMeter, UNUSABLE_REASONS } from "../../shared/engine/pruning/sidecar_indexes.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";

const CACHES = ["parsed_index", "puffin_blob"] as const;

export const INDEX_METRICS = {
  indexAnswers: {
    kind: "counter",
    name: "svc_query_index_answers_total",
    help: "Data files whose indexes were asked, by what they left of a file",
    labels: { answer: ["all", "none", "rows", "groups"] },
  },
  indexUnusable: {
    kind: "counter",
    name: "svc_query_index_unusable_total",
    help:
      "Data files that were read without their indexes, by reason; failed is a bug of this service",
    labels: { reason: UNUSABLE_REASONS },
  },
  indexCacheBytes: {
    kind: "gauge",
    name: "svc_query_index_cache_bytes",
    help: "Bytes of indexes in memory now, by cache",
    labels: { cache: CACHES },
  },
  indexCacheLimitBytes: {
    kind: "gauge",
    name: "svc_query_index_cache_limit_bytes",
    help: "Bytes that each of the index caches may hold",
    labels: { cache: CACHES },
  },
  indexCacheLookups: {
    kind: "counter",
    name: "svc_query_index_cache_lookups_total",
    help: "Lookups in the index caches, by whether the thing was there or on its way",
    labels: { cache: CACHES, outcome: ["hit", "miss"] },
  },
} as const satisfies MetricTable;

/** Counts what lookups in indexes answer. */
export function indexMeter(metrics: MetricHandles<typeof INDEX_METRICS>): IndexMeter {
  // A lookup in hundreds of files tells of thousands of things.
  const meterOf = (cache: typeof CACHES[number]): CacheMeter => {
    const hits = metrics.indexCacheLookups.at({ cache, outcome: "hit" });
    const misses = metrics.indexCacheLookups.at({ cache, outcome: "miss" });
    const held = metrics.indexCacheBytes.at({ cache });
    return {
      lookedUp: (outcome) => (outcome === "hit" ? hits : misses).add(),
      held: (bytes) => held.value = bytes,
    };
  };
  return {
    parsed: meterOf("parsed_index"),
    blobs: meterOf("puffin_blob"),
    answered: (answer) => metrics.indexAnswers.add(1, { answer }),
    unusable: (reason) => metrics.indexUnusable.add(1, { reason }),
  };
}

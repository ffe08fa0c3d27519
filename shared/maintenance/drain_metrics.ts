/** Metrics of a drain, wherever it runs: in the compactor, or in the ingest server with `--with-compactor`. */

import { type LaneId, laneName } from "../event/tenant.ts";
import type { MetricHandles } from "../metrics/metrics.ts";
import { DURATION_SECS_BUCKETS, type MetricTable } from "../metrics/table.ts";
import type { DrainObserver, LaneLag } from "./drain_observer.ts";

export const DRAIN_METRICS = {
  drainCommits: {
    kind: "counter",
    name: "svc_drain_commits_total",
    help: "Commits of WAL segments to tables",
  },
  drainRows: { kind: "counter", name: "svc_drain_rows_total", help: "Rows committed to tables" },
  drainSegments: {
    kind: "counter",
    name: "svc_drain_segments_total",
    help:
      "WAL segments by what happened: committed, set aside as undecodable, removed after their retention",
    labels: { outcome: ["committed", "poisoned", "swept"] },
  },
  drainFiles: {
    kind: "counter",
    name: "svc_drain_files_total",
    help: "Data files added to tables",
  },
  drainFileBytes: {
    kind: "counter",
    name: "svc_drain_file_bytes_total",
    help: "Bytes of data files added to tables",
  },
  drainCommitSecs: {
    kind: "histogram",
    name: "svc_drain_commit_seconds",
    help: "From the first segment read to the commit",
    buckets: DURATION_SECS_BUCKETS,
  },
  drainRetries: {
    kind: "counter",
    name: "svc_drain_retries_total",
    help: "Times that a commit was staged again because another came first",
  },
  drainOvertaken: {
    kind: "counter",
    name: "svc_drain_overtaken_total",
    help: "Drains given up because another one had committed the same segments",
  },
  drainFailures: {
    kind: "counter",
    name: "svc_drain_failures_total",
    help: "Turns of a lane that failed and are tried again",
  },
  drainLagSegments: {
    kind: "gauge",
    name: "svc_drain_lag_segments",
    help: "Sealed segments that waited at the last look, over all lanes",
  },
  drainLagBytes: {
    kind: "gauge",
    name: "svc_drain_lag_bytes",
    help: "Bytes of sealed segments that waited at the last look, over all lanes",
  },
  drainLagSecs: {
    kind: "gauge",
    name: "svc_drain_lag_seconds",
    help: "Age of the oldest sealed segment that waited at the last look, over all lanes",
  },
} as const satisfies MetricTable;

/** An observer that counts into `metrics`. */
export function countDrains(metrics: MetricHandles<typeof DRAIN_METRICS>): DrainObserver {
  const lags = new Map<string, LaneLag>();
  const sum = (of: (lag: LaneLag) => number) =>
    [...lags.values()].reduce((total, lag) => total + of(lag), 0);
  metrics.drainLagSegments.readAtScrape(() => sum((lag) => lag.segments), {});
  metrics.drainLagBytes.readAtScrape(() => sum((lag) => lag.bytes), {});
  metrics.drainLagSecs.readAtScrape(
    () => Math.max(0, ...[...lags.values()].map((lag) => lag.ageSecs)),
    {},
  );
  return {
    committed(_lane, report) {
      metrics.drainCommits.add(1, {});
      metrics.drainRows.add(report.rows, {});
      metrics.drainSegments.add(report.segments, { outcome: "committed" });
      metrics.drainFiles.add(report.files, {});
      metrics.drainFileBytes.add(report.fileBytes, {});
      metrics.drainCommitSecs.observe(report.secs);
      metrics.drainRetries.add(report.retries, {});
    },
    overtaken: () => metrics.drainOvertaken.add(1, {}),
    poisoned: () => metrics.drainSegments.add(1, { outcome: "poisoned" }),
    failed: () => metrics.drainFailures.add(1, {}),
    swept: (_lane, segments) => metrics.drainSegments.add(segments, { outcome: "swept" }),
    lag: (lane: LaneId, lag: LaneLag) => void lags.set(laneName(lane), lag),
  };
}

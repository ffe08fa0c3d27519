import assert from "node:assert/strict";
import { createMetrics } from "../metrics/metrics.ts";
import { countDrains, DRAIN_METRICS } from "./drain_metrics.ts";

const LANE = { tenant: "default", index: "events" };
const OTHER = { tenant: "default", index: "web" };

Deno.test({
  name:
    "countDrains turns what a drain tells into counters, and the last looks into lag over all lanes",
  fn: async () => {
    const metrics = createMetrics(DRAIN_METRICS, { version: "1", role: "compactor" });
    const observer = countDrains(metrics);
    const report = { segments: 3, rows: 100, files: 2, fileBytes: 5_000, secs: 0.2, retries: 1 };
    observer.committed?.(LANE, report);
    observer.committed?.(OTHER, { ...report, rows: 11 });
    observer.poisoned?.(LANE, "s", new Error("bad"));
    observer.swept?.(LANE, 4);
    observer.failed?.(LANE, new Error("full"));
    observer.overtaken?.(LANE);
    observer.lag?.(LANE, { segments: 9, bytes: 900, ageSecs: 90 });
    observer.lag?.(LANE, { segments: 1, bytes: 10, ageSecs: 3 });
    observer.lag?.(OTHER, { segments: 2, bytes: 5, ageSecs: 7 });
    const { text } = await metrics.render(null);
    for (
      const line of [
        "svc_drain_commits_total 2",
        "svc_drain_rows_total 111",
        'svc_drain_segments_total{outcome="committed"} 6',
        'svc_drain_segments_total{outcome="poisoned"} 1',
        'svc_drain_segments_total{outcome="swept"} 4',
        "svc_drain_files_total 4",
        "svc_drain_file_bytes_total 10000",
        "svc_drain_commit_seconds_count 2",
        "svc_drain_retries_total 2",
        "svc_drain_overtaken_total 1",
        "svc_drain_failures_total 1",
        "svc_drain_lag_segments 3",
        "svc_drain_lag_bytes 15",
        "svc_drain_lag_seconds 7",
      ]
    ) assert.ok(text.split("\n").includes(line), `${line} in\n${text}`);
  },
});

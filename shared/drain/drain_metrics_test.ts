import assert from "node:assert/strict";
import { createMetrics } from "../metrics/metrics.ts";
import { LANE_SERIES_MAX } from "../metrics/bounded_cells.ts";
import { countDrain, DRAIN_METRICS } from "./drain_metrics.ts";

const LANE = { tenant: "default", index: "events" };
const OTHER = { tenant: "default", index: "web" };

Deno.test({
  name: "countDrain tells how long a lane does not get on, where and why, until it does or is gone",
  async fn() {
    const metrics = createMetrics(DRAIN_METRICS, { version: "1", role: "compactor" });
    let nowMs = 100_000;
    const observer = countDrain(metrics, { nowMs: () => nowMs });
    const shown = async () =>
      (await metrics.render(null)).text.split("\n")
        .filter((line) => line.startsWith("svc_drain_stalled_seconds{"));
    observer.stalled(LANE, { sinceMs: 90_000, step: "look", why: "catalog_away" });
    observer.stalled(OTHER, { sinceMs: 99_000, step: "commit", why: "hangs" });
    observer.stalled(LANE, { sinceMs: 90_000, step: "stage", why: "hangs" });
    nowMs += 5_000;
    const web = 'svc_drain_stalled_seconds{lane="default/web",step="commit",why="hangs"} 6';
    assert.deepEqual(await shown(), [
      'svc_drain_stalled_seconds{lane="default/events",step="stage",why="hangs"} 15',
      web,
    ]);
    observer.stalled(LANE, undefined);
    assert.deepEqual(await shown(), [web]);
    observer.lanes(new Set(["default/events"]));
    assert.deepEqual(await shown(), []);
  },
});

Deno.test({
  name:
    "countDrain turns what a drain tells into counters, and the last look at each lane into its lag",
  fn: async () => {
    const metrics = createMetrics(DRAIN_METRICS, { version: "1", role: "compactor" });
    let nowMs = 100_000;
    const observer = countDrain(metrics, { nowMs: () => nowMs });
    const report = { segments: 3, rows: 100, files: 2, fileBytes: 5_000, secs: 0.2, retries: 1 };
    observer.committed?.(LANE, report);
    observer.committed?.(OTHER, { ...report, rows: 11 });
    observer.poisoned?.(LANE, "s", new Error("bad"));
    observer.swept?.(LANE, 4);
    observer.failed?.(LANE, new Error("full"));
    observer.overtaken?.(LANE);
    observer.lag?.(LANE, { segments: 9, bytes: 900, oldestMs: 10_000 });
    observer.lag?.(LANE, { segments: 1, bytes: 10, oldestMs: 97_000 });
    observer.lag?.(OTHER, { segments: 2, bytes: 5, oldestMs: 93_000 });
    const { text } = await metrics.render(null);
    const events = 'lane="default/events"';
    for (
      const line of [
        'svc_drain_commits_total{outcome="committed"} 2',
        'svc_drain_commits_total{outcome="overtaken"} 1',
        'svc_drain_commits_total{outcome="failed"} 1',
        `svc_drain_rows_total{${events}} 100`,
        'svc_drain_rows_total{lane="default/web"} 11',
        `svc_drain_segments_total{${events}} 3`,
        `svc_drain_poisoned_segments_total{${events}} 1`,
        `svc_wal_swept_segments_total{${events}} 4`,
        `svc_drain_files_total{${events}} 2`,
        `svc_drain_file_bytes_total{${events}} 5000`,
        "svc_drain_commit_seconds_count 2",
        "svc_drain_commit_retries_total 2",
        `svc_drain_lag_segments{${events}} 1`,
        `svc_drain_lag_bytes{${events}} 10`,
        `svc_drain_lag_seconds{${events}} 3`,
        'svc_drain_lag_segments{lane="default/web"} 2',
      ]
    ) assert.ok(text.split("\n").includes(line), `${line} in\n${text}`);
    const ages = async () =>
      (await metrics.render(null)).text.split("\n")
        .filter((line) => line.startsWith("svc_drain_lag_seconds{"));
    nowMs += 60_000;
    observer.lag?.(OTHER, { segments: 0, bytes: 0, oldestMs: undefined });
    const web = 'svc_drain_lag_seconds{lane="default/web"} 0';
    assert.deepEqual(await ages(), [`svc_drain_lag_seconds{${events}} 63`, web], "no look since");
    observer.lanes?.(new Set(["default/web"]));
    assert.deepEqual(await ages(), [web], "the other lane is gone");
  },
});

Deno.test({
  name: "countDrain bounds the series of lanes, whatever senders call them",
  fn: async () => {
    const metrics = createMetrics(DRAIN_METRICS, { version: "1", role: "compactor" });
    const observer = countDrain(metrics, { nowMs: () => 3 * LANE_SERIES_MAX * 1_000 });
    for (let i = 0; i < 3 * LANE_SERIES_MAX; i += 1) {
      const lane = { tenant: "default", index: `i${i}` };
      observer.swept?.(lane, 2);
      observer.lag?.(lane, { segments: 1, bytes: 1, oldestMs: i * 1_000 });
    }
    const lines = (await metrics.render(null)).text.split("\n");
    const swept = lines.filter((line) => line.startsWith("svc_wal_swept_segments_total{"));
    assert.equal(swept.length, LANE_SERIES_MAX + 1);
    assert.equal(
      swept.at(-1),
      `svc_wal_swept_segments_total{lane="(other)"} ${4 * LANE_SERIES_MAX}`,
    );
    const lag = lines.filter((line) => line.startsWith("svc_drain_lag_segments{"));
    assert.equal(lag.length, LANE_SERIES_MAX + 1);
    assert.equal(lag.at(-1), `svc_drain_lag_segments{lane="(other)"} ${2 * LANE_SERIES_MAX}`);
    const age = `svc_drain_lag_seconds{lane="(other)"} ${2 * LANE_SERIES_MAX}`;
    assert.ok(lines.includes(age), "the oldest of all");
  },
});

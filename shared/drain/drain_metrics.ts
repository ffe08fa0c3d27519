/**
 * Metrics of a drain and the observer that counts them, wherever it runs: in the compactor, or in
 * the ingest server with `--with-compactor`.
 */

import { type LaneId, laneName } from "../tenant/tenant.ts";
import { OTHER } from "../metrics/bounded_cells.ts";
import { LANE_SERIES_MAX } from "../metrics/bounded_cells.ts";
import { BoundedGauge } from "../metrics/bounded_gauge.ts";
import { StallGauge } from "../metrics/stall_gauge.ts";
import type { MetricHandles } from "../metrics/metrics.ts";
import { DURATION_SECS_BUCKETS, type MetricTable } from "../metrics/table.ts";
import { type Clock, SystemClock } from "../os/clock.ts";
import { DRAIN_STEPS, type DrainObserver } from "./drain_observer.ts";

const LANE = { lane: [] } as const;

/** What a drain counts; also served by an ingester that has the compactor inside. */
export const DRAIN_METRICS = {
  rows: {
    kind: "counter",
    name: "svc_drain_rows_total",
    help: "Rows committed to tables",
    labels: LANE,
  },
  fileBytes: {
    kind: "counter",
    name: "svc_drain_file_bytes_total",
    help: "Bytes of the data files committed",
    labels: LANE,
  },
  files: {
    kind: "counter",
    name: "svc_drain_files_total",
    help: "Data files committed",
    labels: LANE,
  },
  segments: {
    kind: "counter",
    name: "svc_drain_segments_total",
    help: "WAL segments committed",
    labels: LANE,
  },
  commits: {
    kind: "counter",
    name: "svc_drain_commits_total",
    help: "Commits by how they ended; overtaken: another drain had committed the same segments; " +
      "claim_lost: this drain was stopped for longer than its lease",
    labels: { outcome: ["committed", "overtaken", "claim_lost", "failed"] },
  },
  commitRetries: {
    kind: "counter",
    name: "svc_drain_commit_retries_total",
    help: "Times that a commit's metadata was written again because another commit came first",
  },
  commitSecs: {
    kind: "histogram",
    name: "svc_drain_commit_seconds",
    help: "From the first segment read to the commit",
    buckets: DURATION_SECS_BUCKETS,
  },
  forgotten: {
    kind: "counter",
    name: "svc_drain_forgotten_segments_total",
    help:
      "WAL segments that the catalog had forgotten though a snapshot has them; the catalog may " +
      "be damaged",
    labels: LANE,
  },
  poisoned: {
    kind: "counter",
    name: "svc_drain_poisoned_segments_total",
    help: "WAL segments set aside: they cannot be read, or claims of them failed too often",
    labels: LANE,
  },
  damagedBytes: {
    kind: "counter",
    name: "svc_drain_damaged_bytes_total",
    help: "Bytes of WAL segments set aside because no intact frame lies in them; the segments' " +
      "other rows are committed",
    labels: LANE,
  },
  mendedFrames: {
    kind: "counter",
    name: "svc_drain_mended_frames_total",
    help: "Frames of damaged WAL segments that were read from the mirror's copies",
    labels: LANE,
  },
  missing: {
    kind: "gauge",
    name: "svc_wal_missing_segments",
    help: "Sealed WAL segments that are gone though no table has their rows; the log and " +
      "svc wal-check name them",
  },
  restored: {
    kind: "counter",
    name: "svc_wal_restored_segments_total",
    help: "Missing WAL segments brought back from the mirror",
    labels: LANE,
  },
  quarantined: {
    kind: "gauge",
    name: "svc_drain_quarantined_segments",
    help:
      "WAL segments in the catalog's quarantine; the log names them, --requeue-quarantined tries them again",
  },
  discarded: {
    kind: "counter",
    name: "svc_drain_discarded_segments_total",
    help: "WAL segments left out because their index was dropped after they were written",
    labels: LANE,
  },
  columnsAdded: {
    kind: "counter",
    name: "svc_drain_attribute_columns_total",
    help: "Columns that tables got for attributes of their rows (--attribute-columns)",
    labels: LANE,
  },
  swept: {
    kind: "counter",
    name: "svc_wal_swept_segments_total",
    help: "Committed WAL segments removed",
    labels: LANE,
  },
  reclaimed: {
    kind: "counter",
    name: "svc_wal_mirror_reclaimed_objects_total",
    help: "Objects of the WAL's mirror that were removed an hour after they were stored, because " +
      "their rows are committed and no machine with their segments removed them",
  },
  lagSegments: {
    kind: "gauge",
    name: "svc_drain_lag_segments",
    help: "Sealed WAL segments that wait for a commit",
    labels: LANE,
  },
  lagBytes: {
    kind: "gauge",
    name: "svc_drain_lag_bytes",
    help: "Bytes of the WAL segments that wait for a commit",
    labels: LANE,
  },
  lagSecs: {
    kind: "gauge",
    name: "svc_drain_lag_seconds",
    help: "Age of the oldest sealed WAL segment that waits for a commit, 0 when none does",
    labels: LANE,
    together: "max",
  },
  laneStalled: {
    kind: "gauge",
    name: "svc_drain_stalled_seconds",
    help:
      "Since when a lane does not get on, in which step of its turn, and why. It hangs when a turn exceeds its deadline; it is skipped until that ends. Else why is the reason of its last error",
    labels: { ...LANE, step: DRAIN_STEPS, why: [] },
    together: "max",
  },
} as const satisfies MetricTable;

/** Counts what a drain reports into `metrics`. */
export function countDrain(
  metrics: MetricHandles<typeof DRAIN_METRICS>,
  clock: Pick<Clock, "nowMs"> = new SystemClock(),
): Required<DrainObserver> {
  const known = new Set<string>();
  const missingIn = new Map<string, number>();
  const labelsOf = (lane: LaneId) => {
    const name = laneName(lane);
    if (known.size < LANE_SERIES_MAX) known.add(name);
    return { lane: known.has(name) ? name : OTHER };
  };
  const gaugeOf = (
    key: "lagSegments" | "lagBytes" | "lagSecs",
    atScrape = (value: number) => value,
  ) =>
    new BoundedGauge(metrics[key], {
      label: "lane",
      seriesMax: LANE_SERIES_MAX,
      spec: DRAIN_METRICS[key],
      atScrape,
    });
  const lags = {
    segments: gaugeOf("lagSegments"),
    bytes: gaugeOf("lagBytes"),
    // A look is old when a drain hangs, and what it found has grown older since.
    oldestMs: gaugeOf("lagSecs", (oldestMs) => Math.max(0, clock.nowMs() - oldestMs) / 1_000),
  };
  const stalls = new StallGauge(metrics.laneStalled, { clock, seriesMax: LANE_SERIES_MAX });
  return {
    committed(lane, report) {
      const labels = labelsOf(lane);
      metrics.rows.add(report.rows, labels);
      metrics.fileBytes.add(report.fileBytes, labels);
      metrics.files.add(report.files, labels);
      metrics.segments.add(report.segments, labels);
      metrics.commits.add(1, { outcome: "committed" });
      metrics.commitRetries.add(report.retries, {});
      metrics.commitSecs.observe(report.secs);
    },
    inQuarantine: (segments) => metrics.quarantined.set(segments, {}),
    claimLost: () => metrics.commits.add(1, { outcome: "claim_lost" }),
    quarantined: (lane) => metrics.poisoned.add(1, labelsOf(lane)),
    overtaken: () => metrics.commits.add(1, { outcome: "overtaken" }),
    forgotten: (lane, { length }) => metrics.forgotten.add(length, labelsOf(lane)),
    failed: () => metrics.commits.add(1, { outcome: "failed" }),
    stalled(lane, stall) {
      const name = laneName(lane);
      if (stall === undefined) return stalls.set(name, undefined);
      const { sinceMs, step, why } = stall;
      stalls.set(name, { sinceMs, labels: { lane: name, step, why } });
    },
    poisoned: (lane) => metrics.poisoned.add(1, labelsOf(lane)),
    damaged: (lane, _segment, damage) =>
      metrics.damagedBytes.add(
        damage.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0),
        labelsOf(lane),
      ),
    mended: (lane, _segment, frames) => metrics.mendedFrames.add(frames, labelsOf(lane)),
    missing(lane, segments) {
      if (segments.length > 0) missingIn.set(laneName(lane), segments.length);
      else missingIn.delete(laneName(lane));
      metrics.missing.set([...missingIn.values()].reduce((sum, count) => sum + count, 0), {});
    },
    restored: (lane) => metrics.restored.add(1, labelsOf(lane)),
    discarded: (lane, segments) => metrics.discarded.add(segments, labelsOf(lane)),
    columnsAdded: (lane, { length }) => metrics.columnsAdded.add(length, labelsOf(lane)),
    swept: (lane, segments) => metrics.swept.add(segments, labelsOf(lane)),
    reclaimed: (objects) => metrics.reclaimed.add(objects, {}),
    lag(lane, lag) {
      const name = laneName(lane);
      lags.segments.set(name, lag.segments);
      lags.bytes.set(name, lag.bytes);
      lags.oldestMs.set(name, lag.oldestMs ?? Infinity);
    },
    lanes(names) {
      for (const gauge of Object.values(lags)) gauge.keep(names);
      stalls.keep((name) => names.has(name));
    },
  };
}

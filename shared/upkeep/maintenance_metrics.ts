/** Metrics of maintenance and the observer that counts them, wherever it runs. */

import { isDamagedFile } from "../base/damaged_file.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { OTHER } from "../metrics/bounded_cells.ts";
import { BoundedGauge } from "../metrics/bounded_gauge.ts";
import { StallGauge } from "../metrics/stall_gauge.ts";
import type { HandleOf, MetricHandles } from "../metrics/metrics.ts";
import { DURATION_SECS_BUCKETS, type MetricTable } from "../metrics/table.ts";
import { LANE_SERIES_MAX } from "../metrics/bounded_cells.ts";
import { type Clock, SystemClock } from "../os/clock.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";

const TABLE = { table: [] } as const;

/** What maintenance counts; also served by an ingester that has the compactor inside. */
export const MAINTENANCE_METRICS = {
  merges: {
    kind: "counter",
    name: "svc_compactor_merges_total",
    help: "Merges by how they ended; superseded: another rewrite took one of the files",
    labels: { outcome: ["merged", "superseded"] },
  },
  mergedRows: {
    kind: "counter",
    name: "svc_compactor_merged_rows_total",
    help: "Rows that merges wrote again",
    labels: TABLE,
  },
  mergedFiles: {
    kind: "counter",
    name: "svc_compactor_merged_files_total",
    help: "Data files that merges replaced",
    labels: TABLE,
  },
  mergeReadBytes: {
    kind: "counter",
    name: "svc_compactor_merge_read_bytes_total",
    help: "Bytes of the data files that merges replaced",
  },
  mergeWrittenBytes: {
    kind: "counter",
    name: "svc_compactor_merge_written_bytes_total",
    help: "Bytes of the data files that merges wrote",
  },
  mergeSecs: {
    kind: "histogram",
    name: "svc_compactor_merge_seconds",
    help: "From the first row read to the commit",
    buckets: DURATION_SECS_BUCKETS,
  },
  mergeRetries: {
    kind: "counter",
    name: "svc_compactor_commit_retries_total",
    help: "Times that a merge's metadata was written again because another commit came first",
  },
  throttled: {
    kind: "counter",
    name: "svc_compactor_merges_throttled_total",
    help: "Looks after which no merge began, because rows in the WAL wait for a drain",
  },
  appliedDeleteRows: {
    kind: "counter",
    name: "svc_compactor_applied_delete_rows_total",
    help: "Rows taken out of data files because delete files of another engine had deleted them",
    labels: TABLE,
  },
  retainedRows: {
    kind: "counter",
    name: "svc_compactor_retention_rows_total",
    help: "Rows that left a table because their retention period is over",
    labels: TABLE,
  },
  retainedFiles: {
    kind: "counter",
    name: "svc_compactor_retention_files_total",
    help: "Data files that left a table because their retention period is over",
    labels: TABLE,
  },
  retentionCutFiles: {
    kind: "counter",
    name: "svc_compactor_retention_cut_files_total",
    help:
      "Data files that were written anew without the rows whose retention period is over: of indexes with exact retention",
    labels: TABLE,
  },
  removedFiles: {
    kind: "counter",
    name: "svc_compactor_removed_files_total",
    help:
      "Files removed: replaced, when no snapshot has them any more; orphan, when none ever had; " +
      "dropped, with their table",
    labels: { kind: ["replaced", "orphan", "dropped"] },
  },
  expired: {
    kind: "counter",
    name: "svc_maintenance_expired_snapshots_total",
    help: "Table snapshots expired",
    labels: TABLE,
  },
  mended: {
    kind: "counter",
    name: "svc_compactor_summaries_mended_total",
    help:
      "Sidecars of committed files that were made anew, or could not be, because their summary " +
      "was missing or damaged or they had no index",
    labels: { outcome: ["rebuilt", "indexed", "failed"] },
  },
  rollups: {
    kind: "counter",
    name: "svc_compactor_rollups_total",
    help: "Sums of the summaries of a day's files that were made, or removed because a newer one " +
      "stands for them",
    labels: { outcome: ["made", "removed"] },
  },
  failures: {
    kind: "counter",
    name: "svc_compactor_sweep_failures_total",
    help: "Turns of maintenance that failed, by sweep; the log says why and when it tries again",
    labels: { sweep: [] },
  },
  sweepStalled: {
    kind: "gauge",
    name: "svc_compactor_sweep_stalled_seconds",
    help:
      "Since when a sweep of a table does not get on, and why. It hangs when a turn exceeds its deadline; it is skipped until that ends. Else why is the reason of its last error",
    labels: { ...TABLE, sweep: [], why: [] },
    together: "max",
  },
  damagedFiles: {
    kind: "counter",
    name: "svc_compactor_damaged_files_total",
    help:
      "Turns of maintenance that failed because a stored file failed a checksum; the log names it",
  },
  scrubbedFiles: {
    kind: "counter",
    name: "svc_compactor_scrubbed_files_total",
    help:
      "Stored files that were verified, by what was found; unsummed: it has no checksums; repaired: it was damaged, and is whole now",
    labels: { outcome: ["intact", "unsummed", "damaged", "repaired"] },
  },
  scrubbedBytes: {
    kind: "counter",
    name: "svc_compactor_scrubbed_bytes_total",
    help: "Bytes of stored files that were verified",
  },
  damagedNow: {
    kind: "gauge",
    name: "svc_table_damaged_files",
    help:
      "Stored files of a table that the last scrub found damaged or missing; svc scrub names them",
    labels: TABLE,
  },
  scrubAge: {
    kind: "gauge",
    name: "svc_table_scrub_age_seconds",
    help: "Since the beginning of the last scrub that verified all files of a table",
    labels: TABLE,
    together: "max",
  },
  tasks: {
    kind: "gauge",
    name: "svc_compactor_merge_tasks",
    help: "Merges that a table wants, one for each day at most, at the last look",
    labels: TABLE,
  },
  tableFiles: {
    kind: "gauge",
    name: "svc_table_files",
    help: "Live data files of a table",
    labels: TABLE,
  },
  tableRows: {
    kind: "gauge",
    name: "svc_table_rows",
    help: "Rows of a table's live data files",
    labels: TABLE,
  },
  tableBytes: {
    kind: "gauge",
    name: "svc_table_bytes",
    help: "Bytes of a table's live data files",
    labels: TABLE,
  },
  tableSnapshots: {
    kind: "gauge",
    name: "svc_table_snapshots",
    help: "Snapshots of a table",
    labels: TABLE,
    together: "max",
  },
  tableDepth: {
    kind: "gauge",
    name: "svc_table_overlap_depth",
    help: "Data files of one day that overlap in time, where most do",
    labels: TABLE,
    together: "max",
  },
} as const satisfies MetricTable;

type TableGauge =
  | "damagedNow"
  | "scrubAge"
  | "tasks"
  | "tableFiles"
  | "tableRows"
  | "tableBytes"
  | "tableSnapshots"
  | "tableDepth";

/** Counts what maintenance reports into `metrics`. Tables past the first so many share series. */
export function countMaintenance(
  metrics: MetricHandles<typeof MAINTENANCE_METRICS>,
  clock: Pick<Clock, "nowMs"> = new SystemClock(),
): Required<MaintenanceObserver> {
  const stalls = countStalls(metrics.sweepStalled, clock);
  const known = new Set<string>();
  const labelsOf = ({ namespace, name }: TableIdent) => {
    const table = `${namespace}.${name}`;
    if (known.size < LANE_SERIES_MAX) known.add(table);
    return { table: known.has(table) ? table : OTHER };
  };
  const gauges = new Map<TableGauge, BoundedGauge<"table">>();
  const gauge = (key: TableGauge, { namespace, name }: TableIdent, value: number) => {
    const spec = MAINTENANCE_METRICS[key];
    const options = { label: "table", seriesMax: LANE_SERIES_MAX, spec } as const;
    const known = gauges.get(key) ?? new BoundedGauge(metrics[key], options);
    gauges.set(key, known);
    known.set(`${namespace}.${name}`, value);
  };
  return {
    merged(ident, report) {
      metrics.merges.add(1, { outcome: report.outcome });
      metrics.mergeRetries.add(report.retries, {});
      if (report.outcome !== "merged") return;
      const labels = labelsOf(ident);
      metrics.mergedRows.add(report.rows, labels);
      metrics.mergedFiles.add(report.task.files.length, labels);
      metrics.mergeReadBytes.add(report.bytesRead, {});
      metrics.mergeWrittenBytes.add(report.bytesWritten, {});
      metrics.mergeSecs.observe(report.secs);
    },
    expired: (ident, snapshots) => metrics.expired.add(snapshots, labelsOf(ident)),
    removed: (kind, files) => metrics.removedFiles.add(files, { kind }),
    applied(ident, { rows }) {
      metrics.appliedDeleteRows.add(rows, labelsOf(ident));
    },
    retained(ident, report) {
      if (report.outcome !== "dropped") return;
      metrics.retainedRows.add(report.rows, labelsOf(ident));
      metrics.retainedFiles.add(report.files, labelsOf(ident));
      metrics.retentionCutFiles.add(report.cut, labelsOf(ident));
    },
    mended(_, { rebuilt, indexed, failed }) {
      metrics.mended.add(rebuilt, { outcome: "rebuilt" });
      metrics.mended.add(indexed, { outcome: "indexed" });
      metrics.mended.add(failed, { outcome: "failed" });
    },
    rolledUp(_, { made, removed }) {
      metrics.rollups.add(made, { outcome: "made" });
      metrics.rollups.add(removed, { outcome: "removed" });
    },
    failed(_, sweep, error) {
      metrics.failures.add(1, { sweep });
      if (isDamagedFile(error)) metrics.damagedFiles.add(1, {});
    },
    stalled: stalls.stalled,
    verified(_, { byteLength, outcome }) {
      metrics.scrubbedFiles.add(1, { outcome });
      metrics.scrubbedBytes.add(byteLength, {});
    },
    scrubbed(ident, { damaged, ageSecs }) {
      gauge("damagedNow", ident, damaged);
      if (ageSecs !== undefined) gauge("scrubAge", ident, ageSecs);
    },
    throttled: () => metrics.throttled.add(1, {}),
    looked(ident, { health, snapshots, tasks }) {
      gauge("tasks", ident, tasks);
      gauge("tableFiles", ident, health.files);
      gauge("tableRows", ident, health.rows);
      gauge("tableBytes", ident, health.bytes);
      gauge("tableSnapshots", ident, snapshots);
      gauge("tableDepth", ident, health.overlapDepth);
    },
    listed(idents) {
      const names = new Set(idents.map(({ namespace, name }) => `${namespace}.${name}`));
      for (const each of gauges.values()) each.keep(names);
      stalls.keep(names);
    },
  };
}

function countStalls(
  gauge: HandleOf<typeof MAINTENANCE_METRICS.sweepStalled>,
  clock: Pick<Clock, "nowMs">,
): Pick<Required<MaintenanceObserver>, "stalled"> & { keep(tables: ReadonlySet<string>): void } {
  const stalls = new StallGauge(gauge, { clock, seriesMax: LANE_SERIES_MAX });
  return {
    stalled(ident, sweep, stall) {
      const table = `${ident.namespace}.${ident.name}`;
      const name = `${table} ${sweep}`;
      if (stall === undefined) return stalls.set(name, undefined);
      stalls.set(name, { sinceMs: stall.sinceMs, labels: { table, sweep, why: stall.why } });
    },
    keep: (tables) => stalls.keep((name) => tables.has(name.slice(0, name.indexOf(" ")))),
  };
}

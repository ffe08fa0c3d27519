/**
 * Options of the compactor: docs/api/command_line.md#options-of-the-servers. One that is no matter
 * of the process itself is in `WORK_OPTIONS`.
 */

import {
  DATA_DIR_OPTION,
  END_WITH_STDIN_OPTION,
  LOG_LEVEL_OPTION,
  METRICS_TENANT_LABELS_OPTION,
  WAL_OPTION,
  WAREHOUSE_OPTIONS,
} from "../shared/config/process_options.ts";
import type { OptionTable, Settings } from "../shared/config/options.ts";
import { SUMMARY_OPTIONS } from "../shared/derived/summary/summary_options.ts";
import { BROWSER_OPTIONS } from "../shared/http/browser_options.ts";
import { CLAIM_OPTIONS } from "./claim_flags.ts";
import { MEMORY_BYTES_MIN } from "./memory_parts.ts";

const ROLES = ["drain", "maintenance", "combined"] as const;

/**
 * What a compactor does, however it runs: as a process (`OPTIONS`) and inside the ingest server
 * (`svc ingest-server --with-compactor`).
 */
export const WORK_OPTIONS = {
  commitBatchTargetMb: {
    kind: "integer",
    flag: "commit-batch-target-mb",
    env: "SVC_COMMIT_BATCH_TARGET_MB",
    placeholder: "MB",
    default: 32,
    min: 1,
    max: 256,
    help: "Commit a lane when this many MiB of its segments wait.",
  },
  commitMaxAgeSecs: {
    kind: "integer",
    flag: "commit-max-age-secs",
    env: "SVC_COMMIT_MAX_AGE_SECS",
    placeholder: "secs",
    default: 10,
    min: 0,
    max: 3_600,
    help: "Commit a lane when its oldest sealed segment is this old; 0: at every look.",
  },
  snapshotRetainLast: {
    kind: "integer",
    flag: "snapshot-retain-last",
    env: "SVC_SNAPSHOT_RETAIN_LAST",
    placeholder: "n",
    default: 1,
    min: 1,
    max: 1_000_000,
    help: "How many of the newest snapshots of a table never expire, whatever their age. They " +
      "keep the files that merges replaced. When a snapshot expires, its rows stay. The " +
      "table's property history.expire.min-snapshots-to-keep wins.",
  },
  snapshotRetainSecs: {
    kind: "integer",
    flag: "snapshot-retain-secs",
    env: "SVC_SNAPSHOT_RETAIN_SECS",
    placeholder: "secs",
    default: 300,
    min: 0,
    max: 31_536_000,
    help: "How long a snapshot is kept after a newer one replaced it, for subscriptions, for " +
      "readers that go page by page, and for other programs. The table's property " +
      "history.expire.max-snapshot-age-ms wins.",
  },
  aggShortScanIntervalSecs: {
    kind: "integer",
    flag: "agg-short-scan-interval-secs",
    env: "SVC_AGG_SHORT_SCAN_INTERVAL_SECS",
    placeholder: "secs",
    default: 900,
    min: 1,
    max: 86_400,
    help: "How often maintenance looks for data files whose summary is missing or damaged, and " +
      "rebuilds it.",
  },
  scrubPeriodDays: {
    kind: "integer",
    flag: "scrub-period-days",
    env: "SVC_SCRUB_PERIOD_DAYS",
    placeholder: "days",
    default: 7,
    min: 1,
    max: 365,
    help: "Every stored file is read and compared with its checksums once in this many days.",
  },
  scrubMaxMbPerSec: {
    kind: "integer",
    flag: "scrub-max-mb-per-sec",
    env: "SVC_SCRUB_MAX_MB_PER_SEC",
    placeholder: "MB",
    default: 20,
    min: 0,
    max: 10_000,
    help: "Most MB that are read a second to verify checksums, even if the period is then " +
      "exceeded. 0: files are only verified by svc scrub.",
  },
  ...SUMMARY_OPTIONS,
  attributeColumns: {
    kind: "integer",
    flag: "attribute-columns",
    env: "SVC_ATTRIBUTE_COLUMNS",
    placeholder: "n",
    default: 64,
    min: 0,
    max: 192,
    help: "Most columns that a table gets for the most frequent attributes of its rows. They " +
      "are hidden: a statement that asks for the attribute reads its column. 0: no new " +
      "ones.",
  },
  deleteTasks: {
    kind: "text",
    flag: "delete-tasks",
    env: "SVC_DELETE_TASKS",
    placeholder: "on|off",
    default: "on",
    help: "Whether maintenance executes delete tasks. With 0, off, false or no, only svc " +
      "delete-sweep --apply does.",
  },
  deleteGraceSecs: {
    kind: "integer",
    flag: "delete-grace-secs",
    env: "SVC_DELETE_GRACE_SECS",
    placeholder: "secs",
    default: 30,
    min: 0,
    max: 86_400,
    help: "Where the WAL is mirrored, how long a delete task waits after it was accepted. By " +
      "then the mirror has the rows of other machines, and the task sees them.",
  },
  scratchDir: {
    kind: "text",
    flag: "scratch-dir",
    placeholder: "DIR",
    default: "compactor-scratch",
    help: "Subdirectory of the data directory, or an absolute path, for temporary copies of an " +
      "object store's data files while a delete task reads them.",
  },
} as const satisfies OptionTable;

export type WorkSettings = Settings<typeof WORK_OPTIONS>;

export const OPTIONS = {
  role: {
    kind: "text",
    flag: "role",
    placeholder: "role",
    default: "combined",
    choices: ROLES,
    help:
      "Drain commits sealed WAL segments to their tables. Maintenance merges small files, drops those " +
      "past their index's retention and expires snapshots. It removes committed segments, replaced " +
      "files, and files of crashed writers. Combined does both.",
  },
  walOnly: {
    kind: "switch",
    flag: "wal-only",
    env: "SVC_WAL_ONLY",
    help: "With --role maintenance: only remove committed segments of the WAL, here and in its " +
      "mirror. Use it on a machine that ingests, when compactors on other machines maintain " +
      "the tables.",
  },
  once: {
    kind: "switch",
    flag: "once",
    help: "Drain and maintain everything once, print a summary and exit.",
  },
  intervalSecs: {
    kind: "integer",
    flag: "interval-secs",
    placeholder: "secs",
    default: 1,
    min: 1,
    max: 3_600,
    help: "How often every lane is looked at; a commit=force is noticed at once.",
  },
  memoryBytes: {
    kind: "integer",
    flag: "memory-bytes",
    env: "SVC_COMPACTOR_MEMORY_BYTES",
    placeholder: "BYTES",
    min: MEMORY_BYTES_MIN,
    max: Number.MAX_SAFE_INTEGER,
    help: "Memory that this process may use: 600 MB when not given. More does not make it " +
      "faster. With less it writes smaller files and collects garbage more often. " +
      "docs/operate.md says how it is divided.",
  },
  dataDir: DATA_DIR_OPTION,
  wal: WAL_OPTION,
  ...WAREHOUSE_OPTIONS,
  ...CLAIM_OPTIONS,
  metricsBind: {
    kind: "text",
    flag: "metrics-bind",
    placeholder: "host:port",
    default: "127.0.0.1:9101",
    help: "Address that serves /metrics; not with --once.",
  },
  ...BROWSER_OPTIONS,
  metricsTenantLabels: METRICS_TENANT_LABELS_OPTION,
  ...WORK_OPTIONS,
  endWithStdin: END_WITH_STDIN_OPTION,
  logLevel: LOG_LEVEL_OPTION,
} as const satisfies OptionTable;

export type CompactorSettings = Settings<typeof OPTIONS>;

/** Settings of the role that it runs in. */
export type HostSettings = Pick<
  CompactorSettings,
  | "dataDir"
  | "wal"
  | "warehouse"
  | "warehouseUrl"
  | "catalogUri"
  | "walMirrorPrefix"
  | keyof typeof BROWSER_OPTIONS
  | "metricsTenantLabels"
  | "logLevel"
  | "endWithStdin"
>;

/**
 * Settings of a compactor in another role's process: what is not that role's, and no work, is as
 * here.
 */
export function embeddedSettings(settings: WorkSettings & HostSettings): CompactorSettings {
  const own: Omit<CompactorSettings, keyof WorkSettings | keyof HostSettings> = {
    role: "combined",
    walOnly: false,
    once: false,
    intervalSecs: OPTIONS.intervalSecs.default,
    memoryBytes: undefined,
    catalogClaim: false,
    claimLeaseSecs: OPTIONS.claimLeaseSecs.default,
    claimAttemptsMax: OPTIONS.claimAttemptsMax.default,
    requeueQuarantined: false,
    metricsBind: OPTIONS.metricsBind.default,
  };
  return { ...settings, ...own };
}

/** A sentence for each option of the work that was given where no compactor runs. */
export function idleWork(settings: WorkSettings): string[] {
  return Object.entries(WORK_OPTIONS)
    .filter(([name, option]) => settings[name as keyof WorkSettings] !== option.default)
    .map(([, { flag }]) =>
      `--${flag} has no effect: no compactor runs here without --with-compactor`
    );
}

/**
 * Options of the ingest server: docs/api/command_line.md#options-of-the-servers.
 *
 * Every option here works. `--with-compactor` belongs to the command line, which composes the
 * roles.
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
import { CONNECTION_OPTIONS } from "../shared/http/connection_options.ts";
import { BROWSER_OPTIONS } from "../shared/http/browser_options.ts";
import { ACCESS_OPTIONS } from "./access_flags.ts";
import { BACKPRESSURE_OPTIONS } from "./backpressure/backpressure_flags.ts";

const MIB = 1024 * 1024;

export const OPTIONS = {
  dataDir: DATA_DIR_OPTION,
  bind: {
    kind: "text",
    flag: "bind",
    placeholder: "host:port",
    default: "0.0.0.0:8088",
    help: "Ingest HTTP address.",
  },
  otlpGrpcListen: {
    kind: "text",
    flag: "otlp-grpc-listen",
    env: "SVC_OTLP_GRPC_LISTEN",
    placeholder: "host:port",
    default: "0.0.0.0:4317",
    help: "OTLP/gRPC address; for none see --disable-otlp-grpc.",
  },
  disableOtlpGrpc: {
    kind: "switch",
    flag: "disable-otlp-grpc",
    help: "Do not listen for OTLP/gRPC.",
  },
  metricsBind: {
    kind: "text",
    flag: "metrics-bind",
    placeholder: "host:port",
    default: "127.0.0.1:9100",
    help: "Address that serves /metrics.",
  },
  ...CONNECTION_OPTIONS,
  wal: WAL_OPTION,
  ...WAREHOUSE_OPTIONS,
  walMaxEvents: {
    kind: "integer",
    flag: "wal-max-events",
    placeholder: "n",
    default: 4096,
    min: 1,
    max: 100_000_000,
    help: "Roll a WAL segment after this many events; under load up to 16 times as many, " +
      "so that it does not roll more than ten times a second.",
  },
  walMaxAgeSecs: {
    kind: "integer",
    flag: "wal-max-age-secs",
    placeholder: "secs",
    default: 5,
    min: 1,
    max: 86_400,
    help: "Roll a WAL segment after this many seconds.",
  },
  walMirrorPrefix: {
    kind: "text",
    flag: "wal-mirror-prefix",
    env: "SVC_WAL_MIRROR_PREFIX",
    placeholder: "prefix",
    emptyCounts: true,
    help: "Copy sealed WAL segments to this folder of the warehouse. When not given: " +
      "wal-mirror/ with --warehouse-url, otherwise no copies. An empty value switches " +
      "copies off.",
  },
  walActiveMirrorIntervalSecs: {
    kind: "integer",
    flag: "wal-active-mirror-interval-secs",
    env: "SVC_WAL_ACTIVE_MIRROR_INTERVAL_SECS",
    placeholder: "secs",
    default: 0,
    min: 0,
    max: 3_600,
    help: "With a mirror, also copy segments that are still being written, at this interval; 0: " +
      "never.",
  },
  ingestFreeSpaceFloorMib: {
    kind: "integer",
    flag: "ingest-free-space-floor-mib",
    env: "SVC_INGEST_FREE_SPACE_FLOOR_MIB",
    placeholder: "MiB",
    default: 256,
    min: 0,
    max: 1_048_576,
    help: "Refuse rows with 503 while the WAL's disk has less free space than this; 0: never " +
      "refuse.",
  },
  ingestMaxBodyBytes: {
    kind: "integer",
    flag: "ingest-max-body-bytes",
    env: "SVC_INGEST_MAX_BODY_BYTES",
    placeholder: "bytes",
    default: 16 * MIB,
    min: 1024,
    max: 256 * MIB,
    help: "Largest request body, decompressed. A larger one is refused with 413.",
  },
  ingestMaxBulkBodyBytes: {
    kind: "integer",
    flag: "ingest-max-bulk-body-bytes",
    env: "SVC_INGEST_MAX_BULK_BODY_BYTES",
    placeholder: "bytes",
    min: 1024,
    max: 256 * MIB,
    help: "Largest body of a bulk request, decompressed. When not given: 32 MiB (Logstash sends " +
      "up to 20), or --ingest-max-body-bytes if that is not its default.",
  },
  ingestMaxLanes: {
    kind: "integer",
    flag: "ingest-max-lanes",
    env: "SVC_INGEST_MAX_LANES",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Most lanes (pairs of tenant and index) that this process writes. Rows of a further " +
      "one are refused with 503. 0: no limit.",
  },
  ...BACKPRESSURE_OPTIONS,
  ...ACCESS_OPTIONS,
  ...BROWSER_OPTIONS,
  metricsTenantLabels: METRICS_TENANT_LABELS_OPTION,
  commitForceTimeoutSecs: {
    kind: "integer",
    flag: "commit-force-timeout-secs",
    env: "SVC_COMMIT_FORCE_TIMEOUT_SECS",
    placeholder: "secs",
    default: 30,
    min: 1,
    max: 3_600,
    help: "How long commit=force waits until its rows are committed. After that the request " +
      "gets 504.",
  },
  remoteDrain: {
    kind: "switch",
    flag: "remote-drain",
    env: "SVC_REMOTE_DRAIN",
    help: "Compactors on other machines drain this server's mirrored WAL (svc compactor " +
      "--catalog-claim). Then commit=force is refused with 400, unless --catalog-uri is their " +
      "PostgreSQL: it notifies them there and waits.",
  },
  esCompatVersion: {
    kind: "text",
    flag: "es-compat-version",
    env: "SVC_ES_COMPAT_VERSION",
    placeholder: "version",
    default: "8.17.0",
    help: "Version that GET / answers to search-engine clients; Beats refuse one below their own.",
  },
  compatAtRoot: {
    kind: "switch",
    flag: "compat-at-root",
    env: "SVC_COMPAT_AT_ROOT",
    help:
      "Take bulk requests, documents and index names of search-engine clients without the prefix " +
      "/api/v1/_compat, too: /_bulk, /{index}/_bulk, /{index}/_doc, /{index}.",
  },
  queryUrl: {
    kind: "text",
    flag: "query-url",
    env: "SVC_QUERY_URL",
    placeholder: "URL",
    help: "Query server that is asked when a search-engine client counts an index (_count), for " +
      "example http://127.0.0.1:8089. Without it _count answers 501.",
  },
  endWithStdin: END_WITH_STDIN_OPTION,
  logLevel: LOG_LEVEL_OPTION,
} as const satisfies OptionTable;

export type IngestSettings = Settings<typeof OPTIONS>;

/** Cap of a bulk request's body, decompressed. */
export function bulkBodyBytesMax(
  settings: Pick<IngestSettings, "ingestMaxBodyBytes" | "ingestMaxBulkBodyBytes">,
): number {
  const { ingestMaxBodyBytes, ingestMaxBulkBodyBytes } = settings;
  if (ingestMaxBulkBodyBytes !== undefined) return ingestMaxBulkBodyBytes;
  const isDefault = ingestMaxBodyBytes === OPTIONS.ingestMaxBodyBytes.default;
  return isDefault ? LIMITS.bulkBodyBytesMax : ingestMaxBodyBytes;
}

/** What has a limit but no option, and what happens past it. */
export const LIMITS = {
  /** A bulk body where no option says otherwise; past it 413, which Logstash repeats forever. */
  bulkBodyBytesMax: 32 * MIB,
  /**
   * A full WAL segment takes rows on until it is this old, up to 16 times its size: each one sealed
   * costs syncs.
   */
  segmentAgeMsMin: 100,
  /**
   * What a request counts for besides its body, so that empty ones have a bound too: 32,768 at a
   * time.
   */
  requestBytes: 8 * 1024,
  /**
   * From the head of a request to its rows' durability; past it 504, and the rows may still be
   * stored.
   */
  requestMsMax: 30_000,
  /** Requests in flight when the process is asked to end. */
  stopMsMax: 10_000,
} as const;

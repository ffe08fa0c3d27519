/**
 * Options of the query server: docs/api/command_line.md#options-of-the-servers, as far as they have
 * an effect.
 */

import type { OptionTable, Settings } from "../shared/config/options.ts";
import {
  DATA_DIR_OPTION,
  END_WITH_STDIN_OPTION,
  LOG_LEVEL_OPTION,
  WAREHOUSE_OPTIONS,
} from "../shared/config/process_options.ts";
import { CONNECTION_OPTIONS } from "../shared/http/connection_options.ts";
import { BROWSER_OPTIONS } from "../shared/http/browser_options.ts";
import { ACCESS_OPTIONS } from "./access_flags.ts";
import { ADMISSION_OPTIONS } from "./admission/admission_flags.ts";
import { MEMORY_OPTIONS } from "./memory/memory_flags.ts";
import { INDEX_CACHE_OPTIONS } from "./index_flags.ts";
import { SCAN_FILE_CACHE_OPTIONS } from "./scan_file_cache_flags.ts";
import { DISTRIBUTED_OPTIONS } from "./distributed/distributed_flags.ts";
import { JOB_OPTIONS } from "./jobs/flags.ts";
import { ROWS_RETURNED_CEILING } from "./limits.ts";
import { PG_OPTIONS } from "./pg/pg_flags.ts";
import { STATUS_OPTIONS } from "./status/status_flags.ts";
import { PAGE_OPTIONS } from "./ui/page_flags.ts";

const MIB = 1024 * 1024;
const BYTES_MAX = Number.MAX_SAFE_INTEGER;

export const OPTIONS = {
  bind: {
    kind: "text",
    flag: "bind",
    placeholder: "HOST:PORT",
    default: "0.0.0.0:8089",
    help: "Address of the HTTP API.",
  },
  metricsBind: {
    kind: "text",
    flag: "metrics-bind",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:9105",
    help: "Address of `/metrics`.",
  },
  ...PG_OPTIONS,
  ...CONNECTION_OPTIONS,
  dataDir: { ...DATA_DIR_OPTION, env: "SVC_DATA_DIR" },
  ...WAREHOUSE_OPTIONS,
  queryWalBufferDir: {
    kind: "text",
    flag: "query-wal-buffer-dir",
    placeholder: "DIR",
    help: "WAL directory to read, so that answers include rows that no table has yet.",
  },
  queryHotCaches: {
    kind: "switch",
    flag: "query-hot-caches",
    env: "SVC_QUERY_HOT_CACHES",
    help:
      "Answer last_values() and distinct_values() from caches over the WAL; needs --query-wal-buffer-dir.",
  },
  tenantNamespace: {
    kind: "text",
    flag: "tenant-namespace",
    env: "SVC_TENANT_NAMESPACE",
    placeholder: "NAMESPACE",
    default: "svc",
    help: "Namespace whose tables queries can name, unless --oidc-tenant-claim says which.",
  },
  ...ACCESS_OPTIONS,
  ...BROWSER_OPTIONS,
  ...PAGE_OPTIONS,
  ...STATUS_OPTIONS,
  icebergWrites: {
    kind: "switch",
    flag: "iceberg-writes",
    env: "SVC_ICEBERG_WRITES",
    help: "Accept commits of other engines through the Iceberg REST catalog. Every caller that " +
      "may read may then write.",
  },
  icebergStsUrl: {
    kind: "text",
    flag: "iceberg-sts-url",
    env: "SVC_ICEBERG_STS_URL",
    placeholder: "URL",
    help: "Security Token Service that gives engines credentials for a table's files in S3; " +
      "without it they bring their own.",
  },
  icebergStsRole: {
    kind: "text",
    flag: "iceberg-sts-role",
    env: "SVC_ICEBERG_STS_ROLE",
    placeholder: "ARN",
    help: "Role whose credentials these are, narrowed to the table; needs --iceberg-sts-url.",
  },
  auditDisabled: {
    kind: "switch",
    flag: "audit-disabled",
    env: "SVC_QUERY_AUDIT_DISABLED",
    help: "Write no rows to query_audit. Without it every statement that ended has a row there.",
  },
  auditAppendDeadlineSecs: {
    kind: "integer",
    flag: "audit-append-deadline-secs",
    env: "SVC_QUERY_AUDIT_APPEND_DEADLINE_SECS",
    placeholder: "SECONDS",
    default: 30,
    min: 0,
    max: 86_400,
    help: "How long the append of one batch to query_audit may take before the batch is " +
      "dropped; 0: no limit.",
  },
  ...ADMISSION_OPTIONS,
  ...JOB_OPTIONS,
  ...DISTRIBUTED_OPTIONS,
  maxRows: {
    kind: "integer",
    flag: "max-rows",
    env: "SVC_QUERY_MAX_ROWS",
    placeholder: "ROWS",
    default: ROWS_RETURNED_CEILING,
    min: 1,
    max: ROWS_RETURNED_CEILING,
    help: "Largest limits.max_rows_returned that an interactive query may ask for.",
  },
  cacheDir: {
    kind: "text",
    flag: "cache-dir",
    placeholder: "DIR",
    default: "query-cache",
    help: "Subdirectory of the data directory, or an absolute path, for spill files, converted " +
      "WAL segments and copies of data files. The start empties its folder `engine`.",
  },
  skipDamagedFiles: {
    kind: "switch",
    flag: "skip-damaged-files",
    env: "SVC_QUERY_SKIP_DAMAGED_FILES",
    help:
      "Leave out data files that fail their checksums, are cut short or gone. The answer then " +
      "names them in cost.warnings, and cost.exact is false. Without it a statement that needs " +
      "such a file fails, and names it.",
  },
  ...MEMORY_OPTIONS,
  spillBytesMax: {
    kind: "integer",
    flag: "spill-max-bytes",
    env: "SVC_QUERY_SPILL_MAX_BYTES",
    placeholder: "BYTES",
    default: 16 * 1024 * MIB,
    min: 0,
    max: BYTES_MAX,
    help: "Most bytes that queries may spill to disk together. A query that needs more is " +
      "refused with 503.",
  },
  queryObjectCacheMaxBytes: {
    kind: "integer",
    flag: "query-object-cache-max-bytes",
    env: "SVC_OBJECT_CACHE_BYTES",
    placeholder: "BYTES",
    min: 0,
    max: BYTES_MAX,
    help:
      "Bytes of an object store's data files kept in the cache directory for later queries, 0 for none. When not given: " +
      "a quarter of the container's memory limit, 64 MiB to 16 GiB, and 1 GiB where it has no limit. What running " +
      "queries need beyond that is bounded by --spill-max-bytes.",
  },
  ...INDEX_CACHE_OPTIONS,
  ...SCAN_FILE_CACHE_OPTIONS,
  threads: {
    kind: "integer",
    flag: "threads",
    env: "SVC_QUERY_THREADS",
    placeholder: "N",
    min: 1,
    max: 1024,
    help: "Threads of DuckDB. When not given: one for each core, but at most one for each 20 " +
      "MiB of its pool.",
  },
  orderedMergeMaxFanin: {
    kind: "integer",
    flag: "ordered-merge-max-fanin",
    env: "SVC_ORDERED_MERGE_MAX_FANIN",
    placeholder: "FILES",
    min: 1,
    max: 1_000_000,
    help: "Most files of one day that a newest-first scan reads part by part; with more files " +
      "it reads them whole, in one scan. When not given: four per core, 16 to 64.",
  },
  orderedMergeGlobalFanin: {
    kind: "integer",
    flag: "ordered-merge-global-fanin",
    env: "SVC_ORDERED_MERGE_GLOBAL_FANIN",
    placeholder: "FILES",
    min: 1,
    max: 1_000_000,
    help: "Most files of all days together that a newest-first scan reads part by part. When " +
      "not given: eight per core, 32 to 128.",
  },
  endWithStdin: END_WITH_STDIN_OPTION,
  logLevel: LOG_LEVEL_OPTION,
} as const satisfies OptionTable;

export type QuerySettings = Settings<typeof OPTIONS>;

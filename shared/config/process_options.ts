/**
 * Options that several processes have, in the same words everywhere. See
 * docs/api/command_line.md#storage.
 */

import { LOG_LEVELS } from "../logging/logging.ts";
import type { OptionTable, SwitchOption, TextOption } from "./options.ts";

/** Its variable is the query server's alone: that one adds `env: "SVC_DATA_DIR"`. */
export const DATA_DIR_OPTION = {
  kind: "text",
  flag: "data-dir",
  placeholder: "DATA_DIR",
  default: "./data",
  help: "Local root directory.",
} as const satisfies TextOption;

/** An option of ingest and compactor. */
export const WAL_OPTION = {
  kind: "text",
  flag: "wal",
  placeholder: "DIR",
  default: "wal",
  help: "WAL directory, absolute or below the data directory.",
} as const satisfies TextOption;

/** Where tables and their catalog are. */
export const WAREHOUSE_OPTIONS = {
  warehouse: {
    kind: "text",
    flag: "warehouse",
    placeholder: "DIR",
    default: "warehouse",
    help: "Warehouse directory, absolute or below the data directory.",
  },
  warehouseUrl: {
    kind: "text",
    flag: "warehouse-url",
    env: "SVC_WAREHOUSE_URL",
    placeholder: "URL",
    help:
      "Warehouse as s3://bucket/path, with credentials in AWS_* variables, or as a file:// URL; " +
      "overrides --warehouse.",
  },
  catalogUri: {
    kind: "text",
    flag: "catalog-uri",
    env: "SVC_CATALOG_URI",
    placeholder: "URI",
    help: "Catalog as postgres://user:password@host/database or sqlite://<path>?mode=rwc; " +
      "catalog.db in the warehouse when not given.",
  },
} as const satisfies OptionTable;

export const END_WITH_STDIN_OPTION = {
  kind: "switch",
  flag: "end-with-stdin",
  help: "Shut down, as at SIGTERM, when standard input ends. So no process is left behind, " +
    "however its parent ends.",
} as const satisfies SwitchOption;

/**
 * An option of ingest and compactor. The query server does not have it: its metrics name no tenant.
 */
export const METRICS_TENANT_LABELS_OPTION = {
  kind: "switch",
  flag: "metrics-tenant-labels",
  env: "SVC_METRICS_TENANT_LABELS",
  help: "Name tenants and their indexes in /metrics, which needs no token. Without it all " +
    "tenants except `default` share one series of each metric.",
} as const satisfies SwitchOption;

export const LOG_LEVEL_OPTION = {
  kind: "text",
  flag: "log-level",
  env: "SVC_LOG",
  placeholder: "LEVEL",
  default: "info",
  choices: LOG_LEVELS,
  help: "Least severe log lines to write to stderr.",
} as const satisfies TextOption;

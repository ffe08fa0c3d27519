/**
 * Tables of the catalog database. `iceberg_tables` and `iceberg_namespace_properties` are column
 * for column those of Apache Iceberg's JDBC catalog with views (its schema version 1). PyIceberg's
 * SQL catalog reads these as well. Our own tables have the prefix `svc_`.
 *
 * Invariants: a segment is in `svc_wal_consumed`, or in a run of `svc_wal_consumed_runs`, if and
 * only if a committed snapshot has held its rows. They may be gone since: rows are deleted and
 * tables dropped. Segment names are unique across lanes and machines.
 */

import type { DatabaseSync } from "node:sqlite";
import { OperatingError } from "../base/errors.ts";
import { type CommitCount, COMMITS_TABLE, inTransaction } from "./sqlite_commits.ts";
import { damagedCatalog } from "./sqlite_errors.ts";
import { RUN_TABLES, RUNS_TABLE } from "./consumed_runs.ts";
import { SqliteCopies, tableNames } from "./sqlite_copies.ts";

/** Our tables' layout; a file with a newer one is refused. */
const CATALOG_VERSION = 1;

/** Managed indexes: the same in both databases. */
export const INDEX_TABLES = `
CREATE TABLE IF NOT EXISTS svc_indexes (
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  etag TEXT NOT NULL,
  config TEXT NOT NULL,
  PRIMARY KEY (table_namespace, table_name)
);
CREATE TABLE IF NOT EXISTS svc_index_templates (
  table_namespace VARCHAR(255) NOT NULL,
  template_id VARCHAR(255) NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (table_namespace, template_id)
);
CREATE TABLE IF NOT EXISTS svc_index_epochs (
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  epoch INTEGER NOT NULL,
  dropped_ms BIGINT NOT NULL,
  PRIMARY KEY (table_namespace, table_name)
);
CREATE TABLE IF NOT EXISTS svc_dropped_tables (
  metadata_location VARCHAR(1000) NOT NULL PRIMARY KEY,
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  dropped_ms BIGINT NOT NULL
);
`;

/**
 * Who works on which WAL segments: the same in both databases. Free segments without a failed
 * attempt have no row.
 */
export const CLAIM_TABLES = `
CREATE TABLE IF NOT EXISTS svc_wal_claims (
  segment_id VARCHAR(64) NOT NULL PRIMARY KEY,
  lane VARCHAR(300) NOT NULL,
  claimant VARCHAR(255),
  token VARCHAR(64),
  expires_ms BIGINT NOT NULL,
  attempts INTEGER NOT NULL,
  quarantined_ms BIGINT,
  reason TEXT
);
CREATE INDEX IF NOT EXISTS svc_wal_claims_token ON svc_wal_claims (token);
`;

/**
 * Delete tasks: the same in both databases. Times by the catalog's clock; `token` names the claim
 * that holds.
 */
export const DELETE_TABLES = `
CREATE TABLE IF NOT EXISTS svc_delete_tasks (
  task_id VARCHAR(64) NOT NULL PRIMARY KEY,
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  table_uuid VARCHAR(64),
  epoch INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  start_ns VARCHAR(20),
  end_ns VARCHAR(20),
  status VARCHAR(16) NOT NULL,
  created_ms BIGINT NOT NULL,
  started_ms BIGINT,
  ended_ms BIGINT,
  attempts INTEGER NOT NULL DEFAULT 0,
  files_total BIGINT NOT NULL DEFAULT 0,
  files_done BIGINT NOT NULL DEFAULT 0,
  rows_matched BIGINT NOT NULL DEFAULT 0,
  rows_deleted BIGINT NOT NULL DEFAULT 0,
  files_rewritten BIGINT NOT NULL DEFAULT 0,
  error TEXT,
  claimant VARCHAR(255),
  token VARCHAR(64),
  claimed_ms BIGINT,
  expires_ms BIGINT NOT NULL DEFAULT 0,
  awaited TEXT
);
CREATE INDEX IF NOT EXISTS svc_delete_tasks_open ON svc_delete_tasks (ended_ms, created_ms);
CREATE INDEX IF NOT EXISTS svc_delete_tasks_listed
  ON svc_delete_tasks (table_namespace, created_ms);
`;

/** What maintenance keeps: the same in both databases. */
export const MAINTENANCE_TABLES = `
CREATE TABLE IF NOT EXISTS svc_leases (
  name VARCHAR(600) NOT NULL PRIMARY KEY,
  token VARCHAR(64) NOT NULL,
  expires_ms BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS svc_removals (
  object_key VARCHAR(1000) NOT NULL PRIMARY KEY,
  folder VARCHAR(600) NOT NULL,
  due_ms BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS svc_removals_due ON svc_removals (folder, due_ms);
CREATE TABLE IF NOT EXISTS svc_long_reads (
  id VARCHAR(64) NOT NULL PRIMARY KEY,
  since_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS svc_scrubs (
  folder VARCHAR(600) NOT NULL PRIMARY KEY,
  began_ms BIGINT NOT NULL,
  cursor_key VARCHAR(1000),
  files BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  unsummed BIGINT NOT NULL,
  whole_ms BIGINT
);
CREATE TABLE IF NOT EXISTS svc_damaged_files (
  object_key VARCHAR(1000) NOT NULL PRIMARY KEY,
  folder VARCHAR(600) NOT NULL,
  damage TEXT NOT NULL,
  found_ms BIGINT NOT NULL
);
`;

const CREATE_TABLES = `
CREATE TABLE IF NOT EXISTS iceberg_tables (
  catalog_name VARCHAR(255) NOT NULL,
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  metadata_location VARCHAR(1000),
  previous_metadata_location VARCHAR(1000),
  iceberg_type VARCHAR(5),
  PRIMARY KEY (catalog_name, table_namespace, table_name)
);
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
  catalog_name VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255),
  property_value VARCHAR(1000),
  PRIMARY KEY (catalog_name, namespace, property_key)
);
CREATE TABLE IF NOT EXISTS svc_wal_consumed (
  segment_id TEXT NOT NULL PRIMARY KEY,
  table_uuid TEXT NOT NULL,
  snapshot_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS svc_table_schemas (
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  schema TEXT NOT NULL,
  PRIMARY KEY (table_namespace, table_name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS svc_catalog_version (version INTEGER NOT NULL);
${COMMITS_TABLE}${RUN_TABLES}${INDEX_TABLES}${CLAIM_TABLES}${DELETE_TABLES}${MAINTENANCE_TABLES}`;

/** A second copy of each of their rows. */
export const CATALOG_COPIES = new SqliteCopies(CREATE_TABLES);

/** Tables that a file of an older program may lack. */
const OUR_TABLES = [
  "svc_commits",
  "svc_table_schemas",
  "svc_dropped_tables",
  "svc_wal_claims",
  "svc_delete_tasks",
  "svc_leases",
  "svc_removals",
  "svc_long_reads",
  "svc_scrubs",
  "svc_damaged_files",
  RUNS_TABLE,
];

/**
 * Makes the tables that are missing, in one transaction, which is counted; also in a file that
 * another Iceberg catalog made.
 */
export function ensureSchema(db: DatabaseSync, count: CommitCount): void {
  if (versionOf(db) === CATALOG_VERSION) {
    const names = new Set(tableNames(db));
    if (OUR_TABLES.every((name) => names.has(name)) && CATALOG_COPIES.areComplete(db)) return;
  }
  inTransaction(db, () => {
    db.exec(CREATE_TABLES);
    const columns = db.prepare("SELECT name FROM pragma_table_info('iceberg_tables')").all();
    // The JDBC catalog's schema version 0 had no views; it adds the column in the same way.
    if (!columns.some((column) => column.name === "iceberg_type")) {
      db.exec("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)");
    }
    if (versionOf(db) === undefined) {
      db.prepare("INSERT INTO svc_catalog_version (version) VALUES (?)").run(CATALOG_VERSION);
    }
    CATALOG_COPIES.ensure(db);
    return { keep: true, value: undefined };
  }, count);
}

/**
 * The file's version; undefined when it has none of our tables yet. Throws `corrupt` for one we do
 * not know.
 */
export function versionOf(db: DatabaseSync): number | undefined {
  const version = hasTable(db, "svc_catalog_version")
    ? db.prepare("SELECT version FROM svc_catalog_version").get()?.version
    : undefined;
  // A file with copies has all tables, and a version.
  if (version === undefined && CATALOG_COPIES.areComplete(db)) {
    throw damagedCatalog("it has tables and no version");
  }
  if (version === undefined || version === CATALOG_VERSION) return version;
  throw new OperatingError(
    "corrupt",
    `Cannot use catalog of version ${version}: this program knows version ${CATALOG_VERSION}; use a newer one`,
    { reason: "catalog_version" },
  );
}

/** A file that an older program made may lack a table that was added since. */
export function hasTable(db: DatabaseSync, name: string): boolean {
  const statement = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  return db.prepare(statement).get(name) !== undefined;
}

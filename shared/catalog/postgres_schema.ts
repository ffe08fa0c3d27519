/**
 * Tables of the catalog in PostgreSQL: those of Apache Iceberg's JDBC catalog (its schema version
 * 1), column for column, and ours with the prefix `svc_`. Layout and invariants are those of
 * `sqlite_schema.ts`.
 */

import type { PoolClient } from "pg";
import { OperatingError } from "../base/errors.ts";
import { RUN_TABLES } from "./consumed_runs.ts";
import { hasTablesOf } from "./postgres_tables.ts";
import { CLAIM_TABLES, DELETE_TABLES, INDEX_TABLES, MAINTENANCE_TABLES } from "./sqlite_schema.ts";

/** Our tables' layout; a database with a newer one is refused. */
const CATALOG_VERSION = 1;

/**
 * Key of the lock under which one process at a time makes the tables; any constant of ours does.
 */
const MIGRATION_LOCK = 7_631_902_455;

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
ALTER TABLE iceberg_tables ADD COLUMN IF NOT EXISTS iceberg_type VARCHAR(5);
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
  catalog_name VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255),
  property_value VARCHAR(1000),
  PRIMARY KEY (catalog_name, namespace, property_key)
);
CREATE TABLE IF NOT EXISTS svc_wal_consumed (
  segment_id TEXT NOT NULL,
  table_uuid TEXT NOT NULL,
  snapshot_id BIGINT NOT NULL,
  CONSTRAINT svc_wal_consumed_pkey PRIMARY KEY (segment_id)
);
CREATE TABLE IF NOT EXISTS svc_table_schemas (
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  schema TEXT NOT NULL,
  PRIMARY KEY (table_namespace, table_name)
);
${RUN_TABLES}${INDEX_TABLES}${CLAIM_TABLES}${DELETE_TABLES}${MAINTENANCE_TABLES}
CREATE TABLE IF NOT EXISTS svc_catalog_version (version INTEGER NOT NULL);
INSERT INTO svc_catalog_version (version)
  SELECT ${CATALOG_VERSION} WHERE NOT EXISTS (SELECT 1 FROM svc_catalog_version);
`;

/**
 * Makes what is missing, in one transaction under a lock. Where nothing is, no right to make tables
 * is needed, and no lock that waits for readers of the tables (a backup, for minutes). Throws
 * `corrupt` for a version we do not know.
 */
export async function ensureSchema(client: PoolClient): Promise<void> {
  if (await hasTablesOf(client, CREATE_TABLES)) return await checkVersion(client);
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await client.query(CREATE_TABLES);
    await checkVersion(client);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function checkVersion(client: PoolClient): Promise<void> {
  const { rows } = await client.query("SELECT version FROM svc_catalog_version");
  const version = rows[0]?.version;
  if (version === CATALOG_VERSION) return;
  throw new OperatingError(
    "corrupt",
    `Cannot use catalog of version ${version}: this program knows version ` +
      `${CATALOG_VERSION}; use a newer one`,
    { reason: "catalog_version" },
  );
}

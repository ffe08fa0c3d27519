/** Opens the job store of a place: the absolute path of a SQLite file, or a PostgreSQL URI. */

import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { Clock } from "../os/clock.ts";
import { ensureDirectory } from "../os/durable_directory.ts";
import type { FileSystem } from "../os/file_system.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { JOB_TABLES } from "./job_schema.ts";
import type { JobStore } from "./job_store.ts";
import { type ChannelListener, listenToChannel } from "./postgres_listener.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { hasTablesOf } from "./postgres_tables.ts";
import { PostgresDatabase, SqliteDatabase } from "./sql_database.ts";
import { POSTGRES_DIALECT, sqliteDialect } from "./sql_dialect.ts";
import { type JobDialect, SqlJobStore } from "./sql_job_store.ts";
import { guard } from "./sqlite_errors.ts";

const JOBS_OPTION = "--jobs-postgres-uri";
/** What named a database of jobs: they are beside the catalog where nothing else is said. */
const JOBS_OPTIONS = `${JOBS_OPTION} (else --catalog-uri)`;

const BUSY_TIMEOUT_MS = 2_000;
const NOUN = "job store";
const CHANNEL = "svc_jobs";
/**
 * Key of the lock under which one process at a time makes the tables; any constant of ours does.
 */
const MIGRATION_LOCK = 7_631_902_456;

const POSTGRES_JOBS: JobDialect = {
  ...POSTGRES_DIALECT,
  tellEnd: `SELECT pg_notify('${CHANNEL}', $1)`,
};

/** Makes what is missing. Errors: `unavailable`, `permission_denied`, `corrupt`. */
export async function openJobStore(
  place: string,
  options: {
    /** SQLite's; default: the machine's. PostgreSQL has its own. */
    readonly clock?: Clock;
    /** Makes the file's folder when it is missing; without it the folder must exist. */
    readonly files?: FileSystem;
  } = {},
): Promise<JobStore> {
  if (isPostgresUri(place)) return await openInPostgres(place);
  if (options.files !== undefined) await makeFolder(options.files, dirname(place));
  await guard(`open the ${NOUN}`, place, () => {
    const db = new DatabaseSync(place, { timeout: BUSY_TIMEOUT_MS });
    try {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      db.exec(JOB_TABLES);
    } finally {
      db.close();
    }
  });
  const database = new SqliteDatabase(place, { busyTimeoutMs: BUSY_TIMEOUT_MS, noun: NOUN });
  return new SqlJobStore(database, sqliteDialect(options.clock));
}

async function makeFolder(files: FileSystem, path: string): Promise<void> {
  try {
    await ensureDirectory(files, path);
  } catch (cause) {
    throw new OperatingError(
      "permission_denied",
      `Cannot make the folder ${path} for batch jobs: ${messageOf(cause)}; make it, or name a ` +
        `database with ${JOBS_OPTION}`,
      { cause },
    );
  }
}

async function openInPostgres(uri: string): Promise<JobStore> {
  const pool = new PostgresPool({
    uri,
    readOnly: false,
    purpose: { noun: NOUN, option: JOBS_OPTIONS },
  });
  try {
    await pool.withClient("make tables", async (client) => {
      if (await hasTablesOf(client, JOB_TABLES)) return;
      await client.query("BEGIN");
      await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
      await client.query(JOB_TABLES);
      await client.query("COMMIT");
    });
  } catch (error) {
    await pool.close();
    throw error;
  }
  return new SqlJobStore(new PostgresDatabase(pool), POSTGRES_JOBS);
}

/**
 * Calls `onEnd` with the id of each job that ended anywhere, and without an id when some may have
 * been missed. Returns undefined for a store in a file, which tells nobody.
 */
export function listenToJobEnds(
  place: string,
  onEnd: (id: string | undefined) => void,
): ChannelListener | undefined {
  if (!isPostgresUri(place)) return undefined;
  return listenToChannel({ uri: place, channel: CHANNEL, option: JOBS_OPTIONS, onNotice: onEnd });
}

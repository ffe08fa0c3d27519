/** Opens the delete tasks of a place, for the roles that accept them and carry them out. */

import type { FileSystem } from "../os/file_system.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import type { DeleteLedger } from "./delete_ledger.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { PostgresDatabase, SqliteDatabase } from "./sql_database.ts";
import { SqlDeleteLedger } from "./sql_delete_ledger.ts";
import { POSTGRES_DIALECT, sqliteDialect } from "./sql_dialect.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";

const BUSY_TIMEOUT_MS = 2_000;

/** `place` is as `openCatalog` takes it. Errors: `unavailable`, `permission_denied`, `corrupt`. */
export async function openDeleteLedger(
  place: string,
  { files }: { readonly files: FileSystem },
): Promise<DeleteLedger> {
  if (isPostgresUri(place)) {
    // Makes the tables where they are missing.
    await (await openPostgresCatalog({ uri: place })).close();
    const pool = new PostgresPool({ uri: place, readOnly: false });
    return new SqlDeleteLedger(new PostgresDatabase(pool), POSTGRES_DIALECT);
  }
  await (await openSqliteCatalog({ path: place, files })).close();
  const database = new SqliteDatabase(place, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  return new SqlDeleteLedger(database, sqliteDialect());
}

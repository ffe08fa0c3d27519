/** Opens what maintenance keeps in the catalog of a place. */

import type { FileSystem } from "../os/file_system.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { PostgresDatabase, SqliteDatabase } from "./sql_database.ts";
import { type MaintenanceCatalog, sqlMaintenanceCatalog } from "./sql_maintenance_catalog.ts";
import { POSTGRES_DIALECT, sqliteDialect } from "./sql_dialect.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";

const BUSY_TIMEOUT_MS = 2_000;

/** `place` is as `openCatalog` takes it. Errors: `unavailable`, `permission_denied`, `corrupt`. */
export async function openMaintenanceCatalog(
  place: string,
  { files }: { readonly files: FileSystem },
): Promise<MaintenanceCatalog> {
  if (isPostgresUri(place)) {
    // Makes the tables where they are missing.
    await (await openPostgresCatalog({ uri: place })).close();
    const pool = new PostgresPool({ uri: place, readOnly: false });
    return sqlMaintenanceCatalog(new PostgresDatabase(pool), POSTGRES_DIALECT);
  }
  await (await openSqliteCatalog({ path: place, files })).close();
  const database = new SqliteDatabase(place, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  return sqlMaintenanceCatalog(database, sqliteDialect());
}

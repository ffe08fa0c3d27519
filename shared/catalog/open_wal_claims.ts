/** Opens the claims of a place, for a drain that has no WAL volume. */

import type { FileSystem } from "../os/file_system.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { PostgresDatabase, SqliteDatabase } from "./sql_database.ts";
import { POSTGRES_DIALECT, sqliteDialect } from "./sql_dialect.ts";
import { SqlWalClaims } from "./sql_wal_claims.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";
import type { WalClaims } from "./wal_claims.ts";

const BUSY_TIMEOUT_MS = 2_000;

/** `place` is as `openCatalog` takes it. Errors: `unavailable`, `permission_denied`, `corrupt`. */
export async function openWalClaims(
  place: string,
  { files }: { readonly files: FileSystem },
): Promise<WalClaims> {
  if (isPostgresUri(place)) {
    // Makes the tables where they are missing.
    await (await openPostgresCatalog({ uri: place })).close();
    const pool = new PostgresPool({ uri: place, readOnly: false });
    return new SqlWalClaims(new PostgresDatabase(pool), POSTGRES_DIALECT);
  }
  await (await openSqliteCatalog({ path: place, files })).close();
  const database = new SqliteDatabase(place, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  return new SqlWalClaims(database, sqliteDialect());
}

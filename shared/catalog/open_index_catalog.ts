/** Opens the index catalog of a place, for a role that changes it. */

import type { FileSystem } from "../os/file_system.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import type { IndexCatalog } from "./index_catalog.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { PostgresDatabase, SqliteDatabase } from "./sql_database.ts";
import { SqlIndexCatalog } from "./sql_index_catalog.ts";
import { CATALOG_NAME, openSqliteCatalog } from "./sqlite_catalog.ts";

const BUSY_TIMEOUT_MS = 2_000;

/** `place` is as `openCatalog` takes it. Errors: `unavailable`, `permission_denied`, `corrupt`. */
export async function openIndexCatalog(
  place: string,
  { files }: { readonly files: FileSystem },
): Promise<IndexCatalog> {
  const options = { catalogName: CATALOG_NAME };
  if (isPostgresUri(place)) {
    // Makes the tables where they are missing.
    await (await openPostgresCatalog({ uri: place })).close();
    const pool = new PostgresPool({ uri: place, readOnly: false });
    return new SqlIndexCatalog(new PostgresDatabase(pool), options);
  }
  await (await openSqliteCatalog({ path: place, files })).close();
  const database = new SqliteDatabase(place, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  return new SqlIndexCatalog(database, options);
}

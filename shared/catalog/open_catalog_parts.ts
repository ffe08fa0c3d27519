/**
 * Opens what the catalog of a place holds beside its tables, for the roles that change it. Each
 * part has a connection of its own. `open_catalog.ts` opens the tables.
 */

import type { FileSystem } from "../os/file_system.ts";
import {
  type CatalogCopier,
  POSTGRES_COPY,
  SqlCatalogCopier,
  SQLITE_COPY,
} from "./catalog_copy.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import type { DeleteLedger } from "./delete_ledger.ts";
import type { IndexCatalog } from "./index_catalog.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { PostgresDatabase, type SqlDatabase, SqliteDatabase } from "./sql_database.ts";
import { SqlDeleteLedger } from "./sql_delete_ledger.ts";
import { POSTGRES_DIALECT, type SqlDialect, sqliteDialect } from "./sql_dialect.ts";
import { SqlIndexCatalog } from "./sql_index_catalog.ts";
import { type MaintenanceCatalog, sqlMaintenanceCatalog } from "./sql_maintenance_catalog.ts";
import { SqlWalClaims } from "./sql_wal_claims.ts";
import { CATALOG_NAME, openSqliteCatalog } from "./sqlite_catalog.ts";
import { CATALOG_COPIES } from "./sqlite_schema.ts";
import type { WalClaims } from "./wal_claims.ts";

/**
 * Opens the part of the catalog at `place`, which is as `openCatalog` takes it, and makes the
 * catalog's tables where they are missing. Errors: `unavailable`, `permission_denied`, `corrupt`.
 */
type OpenPart<Part> = (
  place: string,
  options: { readonly files: FileSystem },
) => Promise<Part>;

/** Copies of all of it, for backups. */
export const openCatalogCopier: OpenPart<CatalogCopier> = opening((database, dialect) =>
  new SqlCatalogCopier(database, dialect === POSTGRES_DIALECT ? POSTGRES_COPY : SQLITE_COPY)
);

/** Delete tasks, for who takes them in and who carries them out. */
export const openDeleteLedger: OpenPart<DeleteLedger> = opening((database, dialect) =>
  new SqlDeleteLedger(database, dialect)
);

/** Indexes and their templates, for a role that changes them. */
export const openIndexCatalog: OpenPart<IndexCatalog> = opening((database) =>
  new SqlIndexCatalog(database, { catalogName: CATALOG_NAME })
);

/** What maintenance keeps. */
export const openMaintenanceCatalog: OpenPart<MaintenanceCatalog> = opening(sqlMaintenanceCatalog);

/** Claims of WAL segments, for a drain that has no WAL volume. */
export const openWalClaims: OpenPart<WalClaims> = opening((database, dialect) =>
  new SqlWalClaims(database, dialect)
);

const BUSY_TIMEOUT_MS = 2_000;

function opening<Part>(
  partOf: (database: SqlDatabase, dialect: SqlDialect) => Part,
): OpenPart<Part> {
  return async (place, { files }) => {
    if (isPostgresUri(place)) {
      await (await openPostgresCatalog({ uri: place })).close();
      const pool = new PostgresPool({ uri: place, readOnly: false });
      return partOf(new PostgresDatabase(pool), POSTGRES_DIALECT);
    }
    await (await openSqliteCatalog({ path: place, files })).close();
    const database = new SqliteDatabase(place, {
      busyTimeoutMs: BUSY_TIMEOUT_MS,
      copies: CATALOG_COPIES,
    });
    return partOf(database, sqliteDialect());
  };
}

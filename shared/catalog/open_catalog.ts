/**
 * Opens the catalog that a place names: the absolute path of a SQLite file, or a PostgreSQL URI.
 */

import type { FileSystem } from "../os/file_system.ts";
import type { Catalog, CatalogReader } from "./catalog.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";

/** For a role that writes. Errors: `unavailable`, `permission_denied`, `corrupt`. */
export function openCatalog(
  place: string,
  { files }: { readonly files: FileSystem },
): Promise<Catalog> {
  return isPostgresUri(place)
    ? openPostgresCatalog({ uri: place })
    : openSqliteCatalog({ path: place, files });
}

/**
 * For a role that only reads; a catalog that is not there yet is an empty one. `option` named it,
 * for messages.
 */
export function openCatalogReader(place: string, option?: string): Promise<CatalogReader> {
  return isPostgresUri(place)
    ? openPostgresCatalog({
      uri: place,
      readOnly: true,
      ...(option === undefined ? {} : { option }),
    })
    : openSqliteCatalog({ path: place, readOnly: true });
}

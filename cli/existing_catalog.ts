/** A catalog that a command only asks what was committed: `--catalog`. */

import { resolve } from "node:path";
import { OperatingError } from "../shared/base/errors.ts";
import { isPostgresUri, sqlitePathOf } from "../shared/catalog/catalog_uri.ts";
import { requireCatalogTables } from "../shared/catalog/require_catalog.ts";
import type { ReadableFiles } from "../shared/os/file_system.ts";

/**
 * Its place, in the form that `openCatalogReader` takes. One that is not there would pass as an
 * empty one, which has committed nothing. Errors: `not_found`; those of its database.
 */
export async function existingCatalog(uri: string, files: ReadableFiles): Promise<string> {
  const place = isPostgresUri(uri) ? uri : resolve(sqlitePathOf(uri));
  if (!isPostgresUri(uri) && !await files.exists(place)) {
    throw new OperatingError(
      "not_found",
      `Cannot read the catalog at --catalog ${uri}: there is no file ${place}; give what is --catalog-uri of the ` +
        "servers, by default catalog.db in their warehouse",
    );
  }
  await requireCatalogTables(place, "--catalog");
  return place;
}

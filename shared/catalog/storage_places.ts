/** Where the options of a process say that its warehouse and its catalog are. */

import { isAbsolute, join, resolve } from "node:path";
import type { Settings } from "../config/options.ts";
import type { WAREHOUSE_OPTIONS } from "../config/process_options.ts";
import { isS3Url } from "../storage/s3_settings.ts";
import { warehousePlaceOf } from "../storage/warehouse_url.ts";
import { isPostgresUri, sqlitePathOf } from "./catalog_uri.ts";

export interface StoragePlaces {
  /**
   * Where the warehouse is, in the form that `openStore` takes: an absolute path, or
   * `s3://bucket/path`.
   */
  readonly warehouse: string;
  /**
   * Where the catalog is, in the form that `openCatalog` takes: the absolute path of a SQLite file,
   * or a `postgres://` URI, which may hold a password.
   */
  readonly catalog: string;
}

/**
 * The catalog is a file in the warehouse unless told otherwise, in the folder of `--warehouse` when
 * the warehouse is no folder. Errors: `invalid_argument` for a URL or URI of a kind that is not
 * known.
 */
export function storagePlaces(
  settings: Settings<typeof WAREHOUSE_OPTIONS> & { readonly dataDir: string },
): StoragePlaces {
  const { warehouseUrl, catalogUri } = settings;
  const folder = belowDataDir(settings, settings.warehouse);
  const place = warehouseUrl === undefined ? folder : warehousePlaceOf(warehouseUrl);
  if (isS3Url(place)) return { warehouse: place, catalog: catalogPlace(catalogUri, folder) };
  const warehouse = resolve(place);
  return { warehouse, catalog: catalogPlace(catalogUri, warehouse) };
}

function catalogPlace(uri: string | undefined, warehouse: string): string {
  if (uri === undefined) return join(warehouse, "catalog.db");
  return isPostgresUri(uri) ? uri : resolve(sqlitePathOf(uri));
}

/** `path` as it is when absolute, else below the data directory. */
export function belowDataDir({ dataDir }: { readonly dataDir: string }, path: string): string {
  return isAbsolute(path) ? resolve(path) : join(resolve(dataDir), path);
}

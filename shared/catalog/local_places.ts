/** Where the options of a process say that its warehouse and its catalog are. */

import { isAbsolute, join, resolve } from "node:path";
import type { Settings } from "../config/options.ts";
import type { WAREHOUSE_OPTIONS } from "../config/process_options.ts";
import { warehousePathOf } from "../storage/warehouse_url.ts";
import { isPostgresUri, sqlitePathOf } from "./catalog_uri.ts";

export interface LocalPlaces {
  /** Absolute. */
  readonly warehouse: string;
  /** As `openCatalog` takes it: absolute path of a SQLite file, or a `postgres://` URI, which may hold a password. */
  readonly catalog: string;
}

/** Errors: `invalid_argument` for a URL or URI that names something other than a local place. */
export function localPlaces(
  settings: Settings<typeof WAREHOUSE_OPTIONS> & { readonly dataDir: string },
): LocalPlaces {
  const { warehouseUrl, catalogUri } = settings;
  const warehouse = warehouseUrl === undefined
    ? belowDataDir(settings, settings.warehouse)
    : resolve(warehousePathOf(warehouseUrl));
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

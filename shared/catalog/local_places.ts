/** Where the options of a process say that its warehouse and its catalog are, on local disk. */

import { isAbsolute, join, resolve } from "node:path";
import type { Settings } from "../config/options.ts";
import type { WAREHOUSE_OPTIONS } from "../config/process_options.ts";
import { warehousePathOf } from "../storage/warehouse_url.ts";
import { sqlitePathOf } from "./catalog_uri.ts";

/** All absolute. */
export interface LocalPlaces {
  readonly warehouse: string;
  /** The SQLite file. */
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
  const catalog = catalogUri === undefined
    ? join(warehouse, "catalog.db")
    : resolve(sqlitePathOf(catalogUri));
  return { warehouse, catalog };
}

/** `path` as it is when absolute, else below the data directory. */
export function belowDataDir({ dataDir }: { readonly dataDir: string }, path: string): string {
  return isAbsolute(path) ? resolve(path) : join(resolve(dataDir), path);
}

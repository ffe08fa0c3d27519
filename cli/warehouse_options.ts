/** The storage options of SPEC.md section 1 for commands that open the warehouse themselves. */

import { isAbsolute, join, resolve } from "node:path";
import { sqlitePathOf } from "../shared/catalog/catalog_uri.ts";
import { DATA_DIR_OPTION, WAREHOUSE_OPTIONS } from "../shared/config/process_options.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import type { OptionTable, Settings } from "../shared/config/options.ts";
import { warehousePathOf } from "../shared/storage/warehouse_url.ts";

export const LOCAL_OPTIONS = {
  dataDir: DATA_DIR_OPTION,
  ...WAREHOUSE_OPTIONS,
} as const satisfies OptionTable;

export interface WarehousePaths {
  /** Absolute. */
  readonly root: string;
  /** Absolute path of the SQLite file. */
  readonly catalog: string;
}

/** Errors: `invalid_argument` for a URL or URI that names something other than a local place. */
export function warehousePaths(settings: Settings<typeof LOCAL_OPTIONS>): WarehousePaths {
  const root = settings.warehouseUrl === undefined
    ? below(resolve(settings.dataDir), settings.warehouse)
    : resolve(warehousePathOf(settings.warehouseUrl));
  const catalog = settings.catalogUri === undefined
    ? join(root, "catalog.db")
    : resolve(sqlitePathOf(settings.catalogUri));
  return { root, catalog };
}

/** The warehouse below a data directory, where the roles have it by default. */
export function localWarehouse(dataDir: string): WarehousePaths {
  return warehousePaths(parseOptions(LOCAL_OPTIONS, ["--data-dir", dataDir]));
}

function below(dataDir: string, path: string): string {
  return isAbsolute(path) ? resolve(path) : join(dataDir, path);
}

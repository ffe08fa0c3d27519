/**
 * The storage options (docs/api/command_line.md#storage) for commands that open the warehouse
 * themselves.
 */

import { storagePlaces } from "../shared/catalog/storage_places.ts";
import { DATA_DIR_OPTION, WAREHOUSE_OPTIONS } from "../shared/config/process_options.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import type { OptionTable, Settings } from "../shared/config/options.ts";

export const LOCAL_OPTIONS = {
  dataDir: DATA_DIR_OPTION,
  ...WAREHOUSE_OPTIONS,
} as const satisfies OptionTable;

export interface WarehousePaths {
  /**
   * Where the warehouse is, in the form that `openStore` takes: an absolute path, or
   * `s3://bucket/path`.
   */
  readonly root: string;
  /**
   * Where the catalog is, in the form that `openCatalog` takes: absolute path of a SQLite file, or
   * a PostgreSQL URI.
   */
  readonly catalog: string;
}

/** Errors: `invalid_argument` for a URL or URI of a kind that is not known. */
export function warehousePaths(settings: Settings<typeof LOCAL_OPTIONS>): WarehousePaths {
  const { warehouse: root, catalog } = storagePlaces(settings);
  return { root, catalog };
}

/** The warehouse below a data directory, where the roles have it by default. */
export function localWarehouse(dataDir: string): WarehousePaths {
  return warehousePaths(parseOptions(LOCAL_OPTIONS, ["--data-dir", dataDir]));
}

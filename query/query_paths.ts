/** Where the query server's places are. */

import { resolve } from "node:path";
import { belowDataDir, storagePlaces } from "../shared/catalog/storage_places.ts";
import type { QuerySettings } from "./flags.ts";

/** All absolute but for a catalog in PostgreSQL. */
export interface QueryPaths {
  readonly warehouse: string;
  /** As `openCatalogReader` takes it. */
  readonly catalog: string;
  /** Besides the audit's table, the only place that is written. */
  readonly cache: string;
  /** Undefined: answers hold only what tables hold. */
  readonly wal: string | undefined;
}

type Places = Pick<
  QuerySettings,
  "dataDir" | "warehouse" | "warehouseUrl" | "catalogUri" | "cacheDir" | "queryWalBufferDir"
>;

/** Errors: `invalid_argument` for places that this server cannot use. */
export function queryPaths(settings: Places): QueryPaths {
  const { queryWalBufferDir } = settings;
  return {
    ...storagePlaces(settings),
    cache: belowDataDir(settings, settings.cacheDir),
    wal: queryWalBufferDir === undefined ? undefined : resolve(queryWalBufferDir),
  };
}

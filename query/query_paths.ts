/** Where the query server's places are. */

import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatingError } from "../shared/base/errors.ts";
import { sqlitePathOf } from "../shared/catalog/catalog_uri.ts";
import type { QuerySettings } from "./flags.ts";

/** All absolute. */
export interface QueryPaths {
  readonly warehouse: string;
  readonly catalog: string;
  /** The only place that is written. */
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
  const { catalogUri, queryWalBufferDir, warehouseUrl } = settings;
  const dataDir = resolve(settings.dataDir);
  const below = (path: string) => isAbsolute(path) ? resolve(path) : join(dataDir, path);
  const warehouse = warehouseUrl === undefined
    ? below(settings.warehouse)
    : warehousePathOf(warehouseUrl);
  return {
    warehouse,
    catalog: catalogUri === undefined
      ? join(warehouse, "catalog.db")
      : resolve(sqlitePathOf(catalogUri)),
    cache: below(settings.cacheDir),
    wal: queryWalBufferDir === undefined ? undefined : resolve(queryWalBufferDir),
  };
}

/** A URL may hold secrets, so only its scheme is repeated. */
function warehousePathOf(url: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return resolve(url);
  if (scheme === "file" && URL.canParse(url)) return fileURLToPath(url);
  throw new OperatingError(
    "invalid_argument",
    `Cannot use a warehouse with scheme ${JSON.stringify(scheme)}: ` +
      "give --warehouse-url file:///path, or --warehouse",
    { reason: "unsupported_warehouse" },
  );
}

/** Where the query server's files and databases are. */

import { dirname, join, resolve } from "node:path";
import { UsageError } from "../shared/base/errors.ts";
import { isPostgresUri } from "../shared/catalog/catalog_uri.ts";
import { belowDataDir, storagePlaces } from "../shared/catalog/storage_places.ts";
import type { QuerySettings } from "./flags.ts";

/** All paths are absolute, except those of PostgreSQL. */
export interface QueryPaths {
  readonly warehouse: string;
  /** Catalog, in the form that `openCatalogReader` takes. */
  readonly catalog: string;
  /** Job store, in the form that `openJobStore` takes. */
  readonly jobs: string;
  /** Cache folder: the only place that is written, besides the audit's table and jobs. */
  readonly cache: string;
  /** WAL folder. Undefined: answers hold only what tables hold. */
  readonly wal: string | undefined;
}

type Places = Pick<
  QuerySettings,
  | "dataDir"
  | "warehouse"
  | "warehouseUrl"
  | "catalogUri"
  | "cacheDir"
  | "queryWalBufferDir"
  | "jobsPostgresUri"
>;

/**
 * Resolves the settings' places. Errors: `invalid_argument` for places that this server cannot use.
 */
export function queryPaths(settings: Places): QueryPaths {
  const { queryWalBufferDir } = settings;
  const places = storagePlaces(settings);
  return {
    ...places,
    jobs: jobsPlace(settings.jobsPostgresUri, places.catalog),
    cache: belowDataDir(settings, settings.cacheDir),
    wal: queryWalBufferDir === undefined ? undefined : resolve(queryWalBufferDir),
  };
}

/**
 * With a catalog in PostgreSQL jobs lie in the same database, so that several servers share them.
 */
function jobsPlace(uri: string | undefined, catalog: string): string {
  if (uri !== undefined && !isPostgresUri(uri)) {
    // The text may hold a password.
    throw new UsageError(
      "Cannot keep jobs in what --jobs-postgres-uri names: give postgres://user:password@host:5432/database",
    );
  }
  if (uri !== undefined) return uri;
  return isPostgresUri(catalog) ? catalog : join(dirname(catalog), "jobs.db");
}

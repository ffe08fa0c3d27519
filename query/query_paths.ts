/** Where the query server's places are. */

import { dirname, join, resolve } from "node:path";
import { UsageError } from "../shared/base/errors.ts";
import { isPostgresUri } from "../shared/catalog/catalog_uri.ts";
import { belowDataDir, storagePlaces } from "../shared/catalog/storage_places.ts";
import type { QuerySettings } from "./flags.ts";

/** All absolute but for what is in PostgreSQL. */
export interface QueryPaths {
  readonly warehouse: string;
  /** As `openCatalogReader` takes it. */
  readonly catalog: string;
  /** As `openJobStore` takes it. */
  readonly jobs: string;
  /** Besides the audit's table and jobs, the only place that is written. */
  readonly cache: string;
  /** Undefined: answers hold only what tables hold. */
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

/** Errors: `invalid_argument` for places that this server cannot use. */
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

/** With a catalog in PostgreSQL jobs are beside it there: several servers then share them. */
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

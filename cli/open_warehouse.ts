/** The warehouse and its catalog, for a command that works on tables itself. */

import { OperatingError } from "../shared/base/errors.ts";
import type { Catalog } from "../shared/catalog/catalog.ts";
import { isPostgresUri } from "../shared/catalog/catalog_uri.ts";
import { openCatalog } from "../shared/catalog/open_catalog.ts";
import type { CommitDeps } from "../shared/iceberg/commit_table.ts";
import { IcebergReader } from "../shared/iceberg/iceberg_reader.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { environment } from "../shared/os/environment.ts";
import { SystemRandom } from "../shared/os/random.ts";
import { openStore } from "../shared/storage/open_store.ts";
import type { WarehousePaths } from "./warehouse_options.ts";

export interface OpenWarehouse extends CommitDeps, AsyncDisposable {
  readonly catalog: Catalog;
  readonly reader: IcebergReader;
  readonly files: DenoFileSystem;
}

/**
 * For a command over tables that are there. Errors: as of `openWarehouse`, and `not_found` where
 * nobody has made a catalog: then the place is mistyped, and is left as it is.
 */
export async function openExistingWarehouse(paths: WarehousePaths): Promise<OpenWarehouse> {
  await requireCatalog(paths.catalog);
  return await openWarehouse(paths);
}

/** `place`: as `openCatalog` takes it. Errors: `not_found`. */
export async function requireCatalog(place: string): Promise<void> {
  if (isPostgresUri(place) || await new DenoFileSystem().exists(place)) return;
  throw new OperatingError(
    "not_found",
    `Cannot find a catalog at ${place}: the servers make it when they start; give the place that they have with ` +
      "--data-dir, or with --warehouse, --warehouse-url and --catalog-uri",
  );
}

/**
 * A catalog that is not there is made. Errors: `unavailable`, `corrupt` of the catalog; what the
 * store says of its settings.
 */
export async function openWarehouse(paths: WarehousePaths): Promise<OpenWarehouse> {
  const files = new DenoFileSystem();
  const clock = new SystemClock();
  const random = new SystemRandom();
  const { store } = openStore(paths.root, { files, clock, random, env: environment });
  const catalog = await openCatalog(paths.catalog, { files });
  return {
    files,
    store,
    catalog,
    clock,
    random,
    reader: new IcebergReader(store),
    [Symbol.asyncDispose]: () => catalog[Symbol.asyncDispose](),
  };
}

/** The warehouse and its catalog, for a command that works on tables itself. */

import type { Catalog } from "../shared/catalog/catalog.ts";
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

/** Errors: `unavailable`, `corrupt` of the catalog; what the store says of its settings. */
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

/** Opens what a drain works on: WAL, warehouse, catalog, Parquet writer. WAL and warehouse are local so far. */

import { belowDataDir, localPlaces } from "../shared/catalog/local_places.ts";
import { openCatalog } from "../shared/catalog/open_catalog.ts";
import { openIndexCatalog } from "../shared/catalog/open_index_catalog.ts";
import { IcebergReader } from "../shared/iceberg/iceberg_reader.ts";
import type { DrainDeps } from "../shared/maintenance/drain.ts";
import type { DrainObserver } from "../shared/maintenance/drain_observer.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import { openParquetEncoder } from "../shared/parquet/parquet_encoder.ts";
import { type LocalStore, openLocalStore } from "../shared/storage/local_store.ts";
import { openWalConsumerAdmin } from "../shared/wal/admin.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import type { CompactorSettings } from "./flags.ts";

export interface CompactorPaths {
  /** Absolute, as is `warehouse`. */
  readonly wal: string;
  readonly warehouse: string;
  /** As `openCatalog` takes it. */
  readonly catalog: string;
}

/** Errors: `invalid_argument` for a catalog or warehouse of a kind that is not there yet. */
export function compactorPaths(
  settings: Pick<
    CompactorSettings,
    "dataDir" | "wal" | "warehouse" | "warehouseUrl" | "catalogUri"
  >,
): CompactorPaths {
  return { wal: belowDataDir(settings, settings.wal), ...localPlaces(settings) };
}

export interface OpenDrain extends AsyncDisposable {
  readonly deps: DrainDeps;
  readonly store: LocalStore;
}

/** Errors: `unavailable`, `corrupt` of the catalog. */
export async function openDrain(
  paths: CompactorPaths,
  observer: DrainObserver,
): Promise<OpenDrain> {
  await using opening = new AsyncDisposableStack();
  const files = new DenoFileSystem();
  const clock = new SystemClock();
  const store = openLocalStore(files, paths.warehouse);
  const deps: DrainDeps = {
    wal: openWalReader(files, paths.wal),
    admin: openWalConsumerAdmin(files, clock, paths.wal),
    store,
    catalog: opening.use(await openCatalog(paths.catalog, { files })),
    indexes: opening.use(await openIndexCatalog(paths.catalog, { files })),
    // Kept: each commit then reads only the metadata that it has not seen.
    reader: new IcebergReader(store),
    encoder: opening.use(openParquetEncoder()),
    clock,
    random: new SystemRandom(),
    observer,
  };
  const opened = opening.move();
  return { deps, store, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

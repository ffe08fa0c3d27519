/**
 * Opens what a compactor works on: WAL or its mirror, warehouse, catalog, readers and writers of
 * Parquet.
 */

import { getLogger } from "@logtape/logtape";
import { belowDataDir, storagePlaces } from "../shared/catalog/storage_places.ts";
import { UsageError } from "../shared/base/errors.ts";
import {
  openIndexCatalog,
  openMaintenanceCatalog,
  openWalClaims,
} from "../shared/catalog/open_catalog_parts.ts";
import { openCatalog } from "../shared/catalog/open_catalog.ts";
import { requireWritableCatalog } from "../shared/catalog/require_catalog.ts";
import { IcebergReader } from "../shared/iceberg/iceberg_reader.ts";
import { isBacklogOver } from "../shared/drain/backlog.ts";
import type { CompactorObservers } from "../shared/upkeep/compactor_metrics.ts";
import type { DrainDeps } from "../shared/drain/drain.ts";
import type { ScrubLoopDeps } from "../shared/upkeep/scrub_loop.ts";
import type { TableSweepDeps } from "../shared/upkeep/table_sweeps.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { diskRoom, diskRoomRefusal } from "../shared/os/disk_room.ts";
import { collectGarbageAbove, keepCompiledCode, startSmallThreads } from "../shared/os/garbage.ts";
import { environment } from "../shared/os/environment.ts";
import { SystemRandom, uuidV4 } from "../shared/os/random.ts";
import { openFileThreads } from "../shared/derived/file_threads.ts";
import type { SummaryLimits } from "../shared/derived/summary/build_summary.ts";
import { openParquetDecoder } from "../shared/parquet/parquet_decoder.ts";
import type { ObjectStore, ReadableStore } from "../shared/storage/object_store.ts";
import { type OpenStore, openStore } from "../shared/storage/open_store.ts";
import { RoomKeepingStore } from "../shared/storage/room_keeping_store.ts";
import { isS3Url } from "../shared/storage/s3_settings.ts";
import { openWalConsumerAdmin } from "../shared/wal/admin.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import type { WalReader } from "../shared/wal/types.ts";
import { mendedWalReader } from "../shared/wal/mirror/mended_wal_reader.ts";
import {
  MirrorConsumerAdmin,
  openMirrorWalReader,
} from "../shared/wal/mirror/mirror_wal_reader.ts";
import { parseMirrorPrefix } from "../shared/wal/mirror/mirror_layout.ts";
import type { CompactorSettings } from "./flags.ts";
import { type CompactorMemoryPlan, planCompactorMemory } from "./memory_parts.ts";

export interface CompactorPaths {
  /** Absolute. */
  readonly wal: string;
  /** Where the warehouse is, in the form that `openStore` takes. */
  readonly warehouse: string;
  /** Where the catalog is, in the form that `openCatalog` takes. */
  readonly catalog: string;
  /** Set: the mirror in the warehouse is drained, under claims, and `wal` is not touched. */
  readonly mirror?: MirrorDrain;
  /** Where ingest servers may mirror the WAL to, below the warehouse: swept with it. */
  readonly mirrorPrefix?: string;
}

export interface MirrorDrain {
  /** Below the warehouse, without a slash at its end. */
  readonly prefix: string;
  readonly leaseMs: number;
  readonly attemptsMax: number;
  /** What is quarantined is handed out again at the start. */
  readonly requeues: boolean;
}

/** Errors: `invalid_argument` for a catalog or warehouse of a kind that is not there yet. */
export function compactorPaths(
  settings: Pick<
    CompactorSettings,
    "dataDir" | "wal" | "warehouse" | "warehouseUrl" | "catalogUri"
  >,
): CompactorPaths {
  return { wal: belowDataDir(settings, settings.wal), ...storagePlaces(settings) };
}

/** Without a slash at its end; empty: there is no mirror. Errors: `invalid_argument`. */
export function mirrorPrefixOf(
  settings: Pick<CompactorSettings, "catalogClaim" | "walMirrorPrefix" | "warehouseUrl">,
): string {
  const { catalogClaim, walMirrorPrefix, warehouseUrl } = settings;
  return parseMirrorPrefix(walMirrorPrefix, {
    hasWarehouseUrl: catalogClaim || warehouseUrl !== undefined,
  });
}

/** The mirror that `--catalog-claim` drains. Errors: `invalid_argument` when there is none. */
export function mirrorDrainOf(
  settings: Pick<
    CompactorSettings,
    | "catalogClaim"
    | "walMirrorPrefix"
    | "claimLeaseSecs"
    | "claimAttemptsMax"
    | "requeueQuarantined"
    | "warehouseUrl"
  >,
): MirrorDrain | undefined {
  if (!settings.catalogClaim) return undefined;
  const prefix = mirrorPrefixOf(settings);
  if (prefix === "") {
    throw new UsageError(
      'Cannot drain the mirror with an empty --wal-mirror-prefix: give the one of the ingest server ("wal-mirror/")',
    );
  }
  return {
    prefix,
    leaseMs: settings.claimLeaseSecs * 1_000,
    attemptsMax: settings.claimAttemptsMax,
    requeues: settings.requeueQuarantined,
  };
}

export interface OpenDrain extends AsyncDisposable {
  readonly deps: DrainDeps;
  /**
   * Sweeps of the same warehouse. They share the threads that encode and derive with the drain. So
   * one file is in the making at a time, and a drain waits for one file of a merge at most.
   */
  readonly maintenance: TableSweepDeps & ScrubLoopDeps;
  readonly store: OpenStore;
  /** Bytes that parts of its memory hold now. */
  readonly held: Readonly<Record<"rows" | "threads", () => number>>;
  /** Where requests for commits of a mirrored lane are put. */
  readonly mirrorAdmin: MirrorConsumerAdmin;
}

export interface OpenDrainOptions {
  /**
   * Whether nothing else runs in this process, which may then stand still for its collector.
   * Default false.
   */
  readonly isAlone?: boolean;
  /** Default: that of the default limit. */
  readonly memory?: CompactorMemoryPlan;
  /** Columns that a table may get for attributes of its rows; default 0: none. */
  readonly attributeColumnsMax?: number;
  /** Limits of the summaries that it makes. */
  readonly summaries: SummaryLimits;
  /** Who hears what was done. */
  readonly observers?: Partial<Pick<CompactorObservers, "drain" | "maintenance">>;
}

/** The threads that write files, of the drain and of maintenance. */
function openWriters(
  opening: AsyncDisposableStack,
  { isAlone, memory, summaries }: {
    readonly isAlone: boolean;
    readonly memory: CompactorMemoryPlan;
    readonly summaries: SummaryLimits;
  },
) {
  const { collectAboveBytes } = memory;
  // In another role's process that role's memory counts as well, and nobody may stand still.
  const threads = {
    collectAboveBytes: isAlone ? collectAboveBytes : memory.limitBytes,
    heldBytes: new Map<object, number>(),
  };
  const { encoder, deriver } = opening.use(openFileThreads(summaries, { memory: threads }));
  const writing = {
    encoder,
    deriver,
    inputBytesMax: memory.drainFileBytes,
    ...(isAlone ? { collect: () => collectGarbageAbove(collectAboveBytes) } : {}),
  };
  return { threads, writing };
}

/** Errors: `unavailable`, `corrupt` of the catalog. */
export async function openDrain(
  paths: CompactorPaths,
  {
    isAlone = false,
    attributeColumnsMax = 0,
    memory = planCompactorMemory(),
    summaries,
    observers = {},
  }: OpenDrainOptions,
): Promise<OpenDrain> {
  await using opening = new AsyncDisposableStack();
  requireWritableCatalog(paths.catalog);
  startSmallThreads();
  keepCompiledCode();
  const { threads, writing } = openWriters(opening, { isAlone, memory, summaries });
  const files = new DenoFileSystem();
  const clock = new SystemClock();
  const random = new SystemRandom();
  const opened = openStore(paths.warehouse, { files, clock, random, env: environment });
  const { store } = opened;
  const mirrorAdmin = new MirrorConsumerAdmin();
  const { leases, removals, scrubs } = opening.use(
    await openMaintenanceCatalog(paths.catalog, { files }),
  );
  const deps: DrainDeps = {
    ...(paths.mirror === undefined
      ? {
        wal: walOf(openWalReader(files, paths.wal), store, paths.mirrorPrefix),
        admin: openWalConsumerAdmin(files, clock, paths.wal),
      }
      : {
        wal: openMirrorWalReader(store, paths.mirror.prefix),
        admin: mirrorAdmin,
        claiming: {
          ...paths.mirror,
          claims: opening.use(await openWalClaims(paths.catalog, { files })),
          claimant: `compactor ${uuidV4(random)}`,
        },
      }),
    store: roomKeepingStore(paths, store),
    ...(paths.mirrorPrefix === undefined ? {} : { mirrorPrefix: paths.mirrorPrefix }),
    catalog: opening.use(await openCatalog(paths.catalog, { files })),
    indexes: opening.use(await openIndexCatalog(paths.catalog, { files })),
    removals,
    attributeColumnsMax,
    // Kept: each commit then reads only the metadata that it has not seen.
    reader: new IcebergReader(store),
    ...writing,
    clock,
    random,
    ...(observers.drain === undefined ? {} : { observer: observers.drain }),
  };
  const maintenance: OpenDrain["maintenance"] = {
    scrubs,
    store,
    roomKeeping: deps.store,
    catalog: deps.catalog,
    reader: new IcebergReader(store),
    ...writing,
    decoder: opening.use(openParquetDecoder(threads)),
    leases,
    removals,
    isBacklogOver: (bytes) => isBacklogOver(bytes, deps.wal, deps.catalog),
    clock,
    random,
    ...(observers.maintenance === undefined ? {} : { observer: observers.maintenance }),
  };
  const resources = opening.move();
  return {
    deps,
    maintenance,
    store: opened,
    held: {
      rows: () => writing.encoder.inputBytes,
      threads: () => [...threads.heldBytes.values()].reduce((sum, bytes) => sum + bytes, 0),
    },
    mirrorAdmin,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** What is damaged on disk is taken from the mirror, where there is one. */
function walOf(wal: WalReader, store: ReadableStore, prefix: string | undefined): WalReader {
  return prefix === undefined ? wal : mendedWalReader(wal, { store, prefix });
}

/** Where what can wait is stored: it leaves the disk of the warehouse some room. */
function roomKeepingStore({ warehouse }: CompactorPaths, store: ObjectStore): ObjectStore {
  if (isS3Url(warehouse)) return store;
  const refusal = diskRoomRefusal();
  if (refusal !== undefined) {
    getLogger(["svc", "compactor"]).warning(
      "cannot keep room on the disk of the warehouse ({refusal}): start with --allow-sys=statfs",
      { refusal },
    );
  }
  return new RoomKeepingStore(store, () => diskRoom(warehouse));
}

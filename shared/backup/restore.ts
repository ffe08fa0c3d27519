/**
 * A point of a backup becomes a warehouse, a WAL and a catalog, in this order: until the catalog is
 * written no role finds a table. README.md of this folder has the steps.
 */

import { isOperatingError, OperatingError } from "../base/errors.ts";
import { textOf, utf8 } from "../base/bytes.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { type CatalogCopier, type CatalogCopy, tablesOfCopy } from "../catalog/catalog_copy.ts";
import { relocateTable } from "../iceberg/relocate.ts";
import type { Clock } from "../os/clock.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { lockForRecovery } from "../wal/put_back.ts";
import type { BackupTarget } from "./backup_target.ts";
import { sumOf } from "./backup_target.ts";
import { someAtOnce } from "./copy_files.ts";
import type { BackedUpFile, Point } from "./point.ts";
import { firstInWal, type RestoredWal, restoreWal } from "./restore_wal.ts";

/** Where a point is restored to. */
export interface RestorePlace {
  readonly store: ObjectStore;
  /** Opened when all else is there; makes the catalog. */
  readonly openCatalog: () => Promise<Catalog>;
  readonly openCopier: () => Promise<CatalogCopier>;
  /** Whether there may be a catalog at all: a file that is not there is an empty one. */
  readonly hasCatalog: () => Promise<boolean>;
  /** The catalog's place, for messages, and its key where it is a file in the warehouse. */
  readonly catalogName: string;
  readonly files: FileSystem;
  /** Folder of the WAL. */
  readonly wal: string;
  readonly clock: Clock;
  readonly random: Random;
}

export interface RestoreOptions {
  /** Default: the newest. */
  readonly point?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: RestoreProgress) => void;
}

export interface RestoreProgress {
  readonly files: number;
  readonly filesDone: number;
  readonly bytesDone: number;
}

export interface RestoreReport extends RestoreProgress {
  readonly name: string;
  readonly momentMs: number;
  readonly tables: number;
  readonly wal: RestoredWal;
  /** Tables whose locations were written anew. */
  readonly relocated: number;
  /**
   * Tables among them whose snapshots keep their former locations, since delete files of another
   * engine name data files by these. They can be relocated when the deletes were applied.
   */
  readonly waiting: readonly string[];
}

/** Names the point that is being restored here. */
const MARKER = "restoring.json";

/**
 * Errors: `not_found` when the backup has no such point; `conflict` when the place is not empty;
 * `corrupt` for an object that is not as its sum says. Also the stores' and the catalog's.
 */
export async function restoreBackup(
  target: BackupTarget,
  place: RestorePlace,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const { signal = new AbortController().signal, onProgress = () => {} } = options;
  const name = await nameOf(target, options.point);
  const point = await target.point(name);
  const isResumed = await claim(place, name);
  const done = { files: point.files.length, filesDone: 0, bytesDone: 0 };
  await someAtOnce(point.files, signal, async (file) => {
    await putFile(target, place.store, { file, isResumed });
    done.filesDone += 1;
    done.bytesDone += file.bytes;
    onProgress({ ...done });
  });
  let wal;
  {
    using _lock = await lockForRecovery(place.files, place.wal, "--wal");
    const { files: fs, wal: root } = place;
    wal = await restoreWal({ fs, root, target }, point.segments, mirroredOf(point));
  }
  await putCatalog(place, point);
  const relocated = await relocateAll(place, point);
  await place.store.delete([MARKER]);
  const tables = tablesOfCopy(point.catalog).length;
  return { ...done, name, momentMs: point.momentMs, tables, wal, ...relocated };
}

/** Names of segments that are among the point's objects: the mirror's copies. */
function mirroredOf({ files }: Point): ReadonlySet<string> {
  return new Set(files.flatMap(({ key }) => /[^/]+\.seg(?=[^/]*$)/.exec(key) ?? []));
}

/** Errors: `not_found`. */
async function nameOf(target: BackupTarget, asked: string | undefined): Promise<string> {
  const names = await target.pointsTo("restore");
  const name = asked === undefined ? names.at(-1) : names.find((one) => one === asked);
  if (name !== undefined) return name;
  throw new OperatingError(
    "not_found",
    `Cannot restore point ${JSON.stringify(asked)} from ${target.rootUri}: its points are ${
      names.join(", ")
    }`,
    { reason: "no_such_point" },
  );
}

/**
 * Makes sure that the place is empty and takes it; true: an earlier restore of the same point began
 * here. Errors: `conflict`.
 */
async function claim(place: RestorePlace, name: string): Promise<boolean> {
  const { store } = place;
  const begun = await markerIn(store);
  if (begun === name) return true;
  if (begun !== undefined) {
    throw notEmpty(
      store.rootUri,
      `a restore of point ${begun} began there; repeat that with --point ${begun}, or give an empty place`,
    );
  }
  for await (const { key } of store.list("")) {
    throw notEmpty(store.rootUri, `it holds ${key}; give an empty folder or prefix`);
  }
  const file = await firstInWal(place.files, place.wal);
  if (file !== undefined) {
    throw notEmpty(place.wal, `the WAL there holds ${file}; give an empty folder with --wal`);
  }
  if (await place.hasCatalog()) {
    await using copier = await place.openCopier();
    const filled = await copier.filled();
    if (filled.length > 0) {
      throw notEmpty(
        place.catalogName,
        `${filled.join(", ")} have rows; give an empty catalog with --catalog-uri`,
      );
    }
  }
  await store.putNew(MARKER, utf8(JSON.stringify({ point: name })));
  return false;
}

async function markerIn(store: ObjectStore): Promise<string | undefined> {
  try {
    const { point } = JSON.parse(textOf(await store.get(MARKER)));
    return String(point);
  } catch (error) {
    if (isOperatingError(error, "not_found")) return undefined;
    throw error;
  }
}

function notEmpty(where: string, why: string): OperatingError {
  return new OperatingError("conflict", `Cannot restore to ${where}: ${why}`, {
    reason: "not_empty",
  });
}

async function putFile(
  target: BackupTarget,
  store: ObjectStore,
  { file, isResumed }: { file: BackedUpFile; isResumed: boolean },
): Promise<void> {
  if (isResumed && await isThere(store, file)) return;
  await store.putNew(file.key, await target.get(file));
}

async function isThere(store: ObjectStore, { key, sum }: BackedUpFile): Promise<boolean> {
  try {
    if (await sumOf(await store.get(key)) === sum) return true;
  } catch (error) {
    if (isOperatingError(error, "not_found")) return false;
    throw error;
  }
  await store.delete([key]);
  return false;
}

/**
 * Unless an earlier restore of the same point did, which ended behind it. Errors: `conflict` when
 * somebody else has made tables there meanwhile.
 */
async function putCatalog(place: RestorePlace, { catalog }: Point): Promise<void> {
  await using copier = await place.openCopier();
  if ((await copier.filled()).length === 0) return await copier.write(catalog);
  const there = new Set(foldersOf(await copier.read()));
  if (foldersOf(catalog).every((folder) => there.has(folder))) return;
  throw notEmpty(
    place.catalogName,
    "other tables were made there since this restore began; give an empty catalog and an empty place",
  );
}

/** The folders of a copy's tables, whose names hold their uuids. */
function foldersOf(copy: CatalogCopy): string[] {
  return tablesOfCopy(copy).map(({ metadataLocation }) =>
    metadataLocation.split("/").slice(-4, -2).join("/")
  );
}

async function relocateAll(
  { store, clock, random, openCatalog }: RestorePlace,
  point: Point,
): Promise<Pick<RestoreReport, "relocated" | "waiting">> {
  const waiting: string[] = [];
  if (store.rootUri === point.rootUri) return { relocated: 0, waiting };
  await using catalog = await openCatalog();
  const deps = { store, catalog, clock, random };
  let relocated = 0;
  for (const { ident } of tablesOfCopy(point.catalog)) {
    try {
      relocated += (await relocateTable(deps, ident)).metadata;
    } catch (error) {
      if (!isOperatingError(error) || error.reason !== "delete_files") throw error;
      waiting.push(`${ident.namespace}.${ident.name}`);
      relocated += (await relocateTable(deps, ident, { isShallow: true })).metadata;
    }
  }
  return { relocated, waiting };
}

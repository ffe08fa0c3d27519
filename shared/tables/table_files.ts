/** Every file that snapshots of a table name: what expiry and orphan collection may not touch. */

import { isOperatingError } from "../base/errors.ts";
import { type ReaderDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { liveFiles, type ManifestFile } from "../iceberg/manifest_list.ts";
import type { Snapshot } from "../iceberg/table_metadata.ts";

export interface SnapshotFiles {
  /** Locations of manifest lists. */
  readonly lists: ReadonlySet<string>;
  /** By location. */
  readonly manifests: ReadonlyMap<string, ManifestFile>;
}

export interface ReadOptions {
  /**
   * A file that is gone counts as empty: for snapshots that expired, whose files somebody may have
   * removed before.
   */
  readonly isLenient?: boolean;
}

/** Metadata files read at the same time. */
const READS_MAX = 16;

/** Errors: those of reading metadata. */
export async function filesOfSnapshots(
  deps: ReaderDeps,
  table: LoadedTable,
  snapshots: readonly Snapshot[],
  options: ReadOptions = {},
): Promise<SnapshotFiles> {
  const reader = readerOf(deps);
  const lists = new Set<string>();
  const manifests = new Map<string, ManifestFile>();
  await inBatches(snapshots, async (snapshot) => {
    const list = snapshot["manifest-list"];
    if (list !== undefined) lists.add(list);
    const metadata = { ...table.metadata, "current-snapshot-id": snapshot["snapshot-id"] };
    const read = () => reader.manifests({ ...table, metadata });
    for (const manifest of await orNothing(read, [], options)) {
      manifests.set(manifest.location, manifest);
    }
  });
  return { lists, manifests };
}

/** Keys of the data files that live in `manifests`. Errors: those of reading metadata. */
export async function dataKeysOf(
  deps: ReaderDeps,
  table: LoadedTable,
  manifests: readonly ManifestFile[],
  options: ReadOptions = {},
): Promise<Set<string>> {
  const reader = readerOf(deps);
  const keys = new Set<string>();
  const filled = manifests.filter((manifest) => liveFiles(manifest) > 0);
  await inBatches(filled, async (manifest) => {
    const read = () => reader.entries(table, manifest);
    for (const { file } of await orNothing(read, [], options)) keys.add(file.key);
  });
  return keys;
}

async function inBatches<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < all.length; start += READS_MAX) {
    await Promise.all(all.slice(start, start + READS_MAX).map(work));
  }
}

async function orNothing<T>(
  read: () => Promise<T>,
  nothing: T,
  { isLenient = false }: ReadOptions,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (isLenient && isOperatingError(error, "not_found")) return nothing;
    throw error;
  }
}

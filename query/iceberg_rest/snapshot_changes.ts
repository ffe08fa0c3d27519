/**
 * What a new snapshot changes of the one before: data files and delete files that come, go and
 * stay. Manifests that both have are not read. Every file lies in the table's own folder, so no
 * table can be given the rows of another.
 */

import type { IcebergReader, LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import type { ListedFile, ManifestEntry } from "../../shared/iceberg/manifest.ts";
import { liveFiles, type ManifestFile } from "../../shared/iceberg/manifest_list.ts";
import { currentSnapshot } from "../../shared/iceberg/table_metadata.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import { refusedCommit } from "./commit_request.ts";

export interface SnapshotChanges {
  readonly added: readonly ListedFile[];
  readonly removed: readonly ListedFile[];
  /** Whether delete files are in the snapshot before, or in the new one. */
  readonly hasDeletes: boolean;
}

/** Bytes of a manifest list, and of the manifests that are not in both snapshots. */
const LIST_BYTES_MAX = 16 * 1024 * 1024;
const MANIFEST_BYTES_MAX = 64 * 1024 * 1024;

interface Tables {
  readonly base: LoadedTable;
  readonly next: LoadedTable;
}

/**
 * Errors: `invalid_argument` (`commit_refused`); those of reading metadata, also where the new
 * snapshot has what this service does not read (`unimplemented`, `corrupt`).
 */
export async function snapshotChanges(
  reader: IcebergReader,
  { base, next }: Tables,
): Promise<SnapshotChanges> {
  const list = next.locator.keyOf(currentSnapshot(next.metadata)?.["manifest-list"] ?? "");
  await requireOwn(reader.store, next, { key: list, bytesMax: LIST_BYTES_MAX });
  const before = await reader.manifests(base);
  const after = await reader.manifests(next);
  const known = new Set(before.map(({ location }) => location));
  const stays = new Set(after.map(({ location }) => location).filter((one) => known.has(one)));
  const gone = before.filter(({ location }) => !stays.has(location));
  const come = after.filter(({ location }) => !stays.has(location));
  if (new Set(after.map(({ location }) => location)).size !== after.length) {
    throw refusedCommit("its manifest list has a manifest twice");
  }
  const bytes = [...gone, ...come].reduce((sum, one) => sum + one.byteLength, 0);
  if (bytes > MANIFEST_BYTES_MAX) {
    throw refusedCommit(
      `it writes ${bytes} bytes of manifests anew, ${MANIFEST_BYTES_MAX} are taken at once`,
    );
  }
  for (const manifest of come) {
    const key = next.locator.keyOf(manifest.location);
    await requireOwn(reader.store, next, { key, bytesMax: MANIFEST_BYTES_MAX });
    if (manifest.sequenceNumber > next.metadata["last-sequence-number"]) {
      throw refusedCommit(`manifest ${manifest.location} is of a later commit`);
    }
  }
  const left = await filesOf(reader, base, gone);
  const arrived = await filesOf(reader, next, come);
  for (const [key, entry] of arrived) {
    const old = left.get(key);
    if (old !== undefined) requireSame(old, entry);
  }
  return {
    added: [...arrived].filter(([key]) => !left.has(key)).map(([, { file }]) => file),
    removed: [...left].filter(([key]) => !arrived.has(key)).map(([, { file }]) => file),
    hasDeletes: await reader.hasDeletes(base) || await reader.hasDeletes(next),
  };
}

/** Refuses a file that is not in the table's folder, or larger than may be. */
export async function requireOwn(
  store: Pick<ReadableStore, "head">,
  { locationKey }: Pick<LoadedTable, "locationKey">,
  { key, bytesMax }: { readonly key: string; readonly bytesMax: number },
): Promise<number> {
  if (!key.startsWith(`${locationKey}/`) || key.split("/").includes("..")) {
    throw refusedCommit(
      `file ${key} lies outside of the table's folder ${locationKey}; write below the table's ` +
        "location",
    );
  }
  const { size } = await store.head(key);
  if (size > bytesMax) throw refusedCommit(`file ${key} has ${size} bytes, at most ${bytesMax}`);
  return size;
}

async function filesOf(
  reader: IcebergReader,
  table: LoadedTable,
  manifests: readonly ManifestFile[],
): Promise<Map<string, ManifestEntry>> {
  const files = new Map<string, ManifestEntry>();
  for (const manifest of manifests.filter((one) => liveFiles(one) > 0)) {
    for (const entry of await reader.entries(table, manifest)) {
      const { key } = entry.file;
      if (files.has(key)) throw refusedCommit(`it has ${key} twice`);
      files.set(key, entry);
    }
  }
  return files;
}

/** A file that goes on in another manifest says what it said. */
function requireSame(before: ManifestEntry, after: ManifestEntry): void {
  const said = ({ sequenceNumber, file }: ManifestEntry) =>
    [sequenceNumber, file.rows, file.byteLength, file.day, file.sortOrderId].join();
  if (said(before) === said(after)) return;
  throw refusedCommit(`it changes what is known of ${before.file.key}`);
}

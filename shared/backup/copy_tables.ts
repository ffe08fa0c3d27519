/** Copies the files of tables: metadata first, which goes soonest, then what it names. */

import { isDamagedFile } from "../base/damaged_file.ts";
import { isOperatingError } from "../base/errors.ts";
import type { CopiedTable } from "../catalog/catalog_copy.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import { IcebergReader, type LoadedTable, loadedTable } from "../iceberg/iceberg_reader.ts";
import { keyOfMetadata, TableLocator } from "../iceberg/locations.ts";
import { parseTableMetadata, type TableMetadata } from "../iceberg/table_metadata.ts";
import type { ObjectInfo, ReadableStore } from "../storage/object_store.ts";
import { dataKeysOf, filesOfSnapshots } from "../tables/table_files.ts";
import { type FileCopies, missingFile, MovedOn, someAtOnce } from "./copy_files.ts";
import type { BackupTarget } from "./backup_target.ts";
import type { BackedUpFile } from "./point.ts";

/** A table whose metadata file is in the backup. */
export interface HeldTable extends CopiedTable {
  readonly metadata: BackedUpFile;
}

export interface TableCopyDeps {
  readonly store: ReadableStore;
  readonly target: BackupTarget;
  readonly copies: FileCopies;
  readonly signal: AbortSignal;
}

/** Errors: `MovedOn` when a commit has replaced a file meanwhile; the stores'. */
export async function copyMetadata(
  { store, copies, signal }: TableCopyDeps,
  tables: readonly CopiedTable[],
): Promise<HeldTable[]> {
  const held: HeldTable[] = [];
  await someAtOnce(tables, signal, async (table) => {
    const key = keyOfMetadata(store.rootUri, table.metadataLocation);
    const copy = async () => copies.copy(await store.head(key));
    held.push({ ...table, metadata: await orMovedOn(key, copy) });
  });
  return held;
}

/**
 * Copies what the metadata names: of every snapshot the manifests, data files and sidecars. Errors:
 * `corrupt` when a file of the table is missing or unreadable; the stores'.
 */
export async function copyTable(deps: TableCopyDeps, held: HeldTable): Promise<BackedUpFile[]> {
  const { store, copies, signal } = deps;
  const bytes = await metadataBytes(deps, held.metadata);
  const metadata = parseTableMetadata(bytes, held.metadataLocation);
  const locator = new TableLocator(store.rootUri, metadata.location, held.metadata.key);
  const where = { metadataLocation: held.metadataLocation, locator };
  const table = loadedTable(held.ident, metadata, where);
  const keys = await keysOf(store, table);
  const listed = new Map<string, ObjectInfo>();
  for await (const info of store.list(`${table.locationKey}/`)) listed.set(info.key, info);
  const name = `${held.ident.namespace}.${held.ident.name}`;
  const files = [held.metadata];
  await someAtOnce(keys.needed, signal, async (key) => {
    try {
      files.push(await copies.copy(listed.get(key) ?? await store.head(key)));
    } catch (error) {
      throw missingFile(name, key, error);
    }
  });
  await someAtOnce(keys.optional, signal, async (key) => {
    const info = listed.get(key);
    if (info === undefined) return;
    try {
      files.push(await copies.copy(info));
    } catch (error) {
      // Removed since it was listed. A damaged one is worth nothing, and is made anew.
      if (!isOperatingError(error, "not_found") && !isDamagedFile(error)) throw error;
    }
  });
  return files;
}

/** From the backup: at its place it may be gone by now. */
async function metadataBytes(
  { store, target }: TableCopyDeps,
  metadata: BackedUpFile,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await target.get(metadata);
  } catch (error) {
    if (!isOperatingError(error, "corrupt")) throw error;
  }
  const bytes = await orMovedOn(metadata.key, () => store.get(metadata.key));
  await target.mend(metadata, bytes);
  return bytes;
}

async function orMovedOn<T>(key: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw isOperatingError(error, "not_found") ? new MovedOn(key, { cause: error }) : error;
  }
}

/** Keys of the table's files but its metadata; a table without the optional ones is whole. */
async function keysOf(store: ReadableStore, table: LoadedTable) {
  const { metadata, locator } = table;
  const deps = { store, reader: new IcebergReader(store) };
  const { lists, manifests } = await filesOfSnapshots(deps, table, metadata.snapshots);
  const data = await dataKeysOf(deps, table, [...manifests.values()]);
  const ofMetadata = [...lists, ...manifests.keys()].map((location) => locator.keyOf(location));
  const optional = [...data].map(sidecarKey);
  for (const location of otherLocations(metadata)) optional.push(locator.keyOf(location));
  return { needed: new Set([...ofMetadata, ...data]), optional: new Set(optional) };
}

/** Former metadata files, and statistics of other engines. */
function otherLocations(metadata: TableMetadata): string[] {
  const statistics = [metadata["statistics"], metadata["partition-statistics"]]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .map((entry) => entry?.["statistics-path"])
    .filter((path) => typeof path === "string");
  return [...metadata["metadata-log"].map((entry) => entry["metadata-file"]), ...statistics];
}

/**
 * Orphans: files below a table's directory that nothing names. A writer that crashed before its
 * commit left them, or one that crashed between a commit and the removal of what it made needless.
 *
 * A file is an orphan when three things hold. It is old enough that no commit under way can have
 * written it. No snapshot of the present metadata names it. It is not entered for removal, or its
 * time has come (`catalog/removals.ts`).
 *
 * The directory is listed before the metadata is read, so a file that a commit names meanwhile is
 * found to be named. What cannot be read entirely is not touched: one unreadable manifest, and
 * every file stays.
 */

import type { Removals } from "../catalog/removals.ts";
import { folderOfRollup, rollupFolder } from "../derived/summary/rollup.ts";
import { withSidecars } from "../derived/sidecar.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { tableLocationKey } from "../iceberg/locations.ts";
import type { TableMetadata } from "../iceberg/table_metadata.ts";
import type { ObjectInfo } from "../storage/object_store.ts";
import { dataKeysOf, filesOfSnapshots } from "../tables/table_files.ts";

export interface OrphanDeps extends CommitDeps {
  readonly removals: Removals;
}

/** Files of a table that nothing names, and those that stay. */
export interface OrphanPlan {
  readonly ident: TableIdent;
  readonly orphans: readonly ObjectInfo[];
  /** Files that something names, or that may yet be named, and their bytes. */
  readonly kept: { readonly files: number; readonly bytes: number };
  /**
   * Kept files that no snapshot has. A statement that began before may read them, so they go in
   * their time.
   */
  readonly waiting: readonly ObjectInfo[];
}

/** No commit takes longer than this from its first file to its commit point. */
export const ORPHAN_AGE_MS_MIN = 24 * 3_600_000;
const DELETES_MAX = 500;
/** Files whose time has come that one look takes; the next takes the others. */
const DUE_MAX = 10_000;

/**
 * What the sweep would remove of a table; undefined when there is no such table. Errors: those of
 * reading all of it.
 */
export async function lookForOrphans(
  given: OrphanDeps,
  ident: TableIdent,
  options: { readonly ageMsMin?: number } = {},
): Promise<OrphanPlan | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const folder = await folderOf(deps, ident);
  if (folder === undefined) return undefined;
  const all = await Array.fromAsync(deps.store.list(tableLocationKey(ident, "")));
  // From here on: read after the listing.
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  const table = await deps.reader.loadTable(ident, location);
  if (table.locationKey !== folder) return undefined;
  const listed = all.filter(({ key }) => key.startsWith(`${folder}/`));
  const neverBorn = all.filter(({ key }) => !key.startsWith(`${folder}/`) && isNeverBorn(key, all));
  const entered = await deps.removals.entered(folder);
  const due = new Set(await deps.removals.due(folder, { max: DUE_MAX, graceMs: 0 }));
  const waits = new Set(withSidecars([...entered].filter((key) => !due.has(key))));
  const named = await namedKeys(deps, table);
  const before = deps.clock.nowMs() - (options.ageMsMin ?? ORPHAN_AGE_MS_MIN);
  const isOld = ({ modifiedMs }: ObjectInfo) => modifiedMs <= before;
  // Sums of the summaries of days that have files: another sweep's (`rollup_sweep.ts`).
  const days = new Set([...named].map(rollupFolder));
  const isRollup = (key: string) => days.has(folderOfRollup(key) ?? "");
  const orphans = listed.filter((object) =>
    !named.has(object.key) && !waits.has(object.key) && !isRollup(object.key) && isOld(object)
  );
  return {
    ident,
    orphans: [...orphans, ...neverBorn.filter(isOld)],
    kept: {
      files: listed.length - orphans.length,
      bytes: bytesOf(listed) - bytesOf(orphans),
    },
    waiting: listed.filter(({ key }) => waits.has(key) && !named.has(key)),
  };
}

/**
 * Removes the plan's orphans. Errors: the store's and the catalog's; what is removed by then stays
 * so.
 */
export async function applyOrphans(
  { store, removals }: Pick<OrphanDeps, "store" | "removals">,
  { orphans }: OrphanPlan,
): Promise<void> {
  for (let start = 0; start < orphans.length; start += DELETES_MAX) {
    const keys = orphans.slice(start, start + DELETES_MAX).map(({ key }) => key);
    await store.delete(keys);
    await removals.forget(keys);
  }
}

/** Bytes of all these objects. */
export function bytesOf(objects: readonly ObjectInfo[]): number {
  return objects.reduce((sum, { size }) => sum + size, 0);
}

/** The name of the first metadata of a table. */
const FIRST_METADATA =
  /^(?<folder>.*[-/][0-9a-f]{32})\/metadata\/00000-[0-9a-f-]{36}\.metadata\.json$/;

/**
 * Whether the object is what a crash leaves between the first metadata of a new table and its
 * commit: that metadata, alone in its folder. A folder with anything else may be another catalog's
 * table, and is left alone.
 */
function isNeverBorn(key: string, all: readonly ObjectInfo[]): boolean {
  const folder = FIRST_METADATA.exec(key)?.groups?.["folder"];
  if (folder === undefined) return false;
  return all.every((other) => other.key === key || !other.key.startsWith(`${folder}/`));
}

async function folderOf(deps: CommitDeps, ident: TableIdent): Promise<string | undefined> {
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  return (await readerOf(deps).loadTable(ident, location)).locationKey;
}

/** Every key that the table's metadata leads to. */
export async function namedKeys(deps: CommitDeps, table: LoadedTable): Promise<Set<string>> {
  const { metadata, locator } = table;
  const { lists, manifests } = await filesOfSnapshots(deps, table, metadata.snapshots);
  const data = await dataKeysOf(deps, table, [...manifests.values()]);
  const locations = [
    table.metadataLocation,
    ...metadata["metadata-log"].map((entry) => entry["metadata-file"]),
    ...lists,
    ...manifests.keys(),
    ...statisticsOf(metadata),
  ];
  return new Set([
    ...locations.map((location) => locator.keyOf(location)),
    ...withSidecars([...data]),
  ]);
}

/** Statistics files that other engines made. */
function statisticsOf(metadata: TableMetadata): string[] {
  const lists = [metadata["statistics"], metadata["partition-statistics"]];
  return lists.flatMap((list) => (Array.isArray(list) ? list : []))
    .map((entry) => entry?.["statistics-path"])
    .filter((path) => typeof path === "string");
}

/**
 * Removes the files of a table that were entered for removal and whose time has come: data files
 * with their sidecars, manifests, manifest lists. One that a snapshot names after all (the commit
 * that was to make it needless did not come about) stays, and is forgotten.
 */

import type { Removals } from "../catalog/removals.ts";
import { withSidecars } from "../derived/sidecar.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { REMOVAL_GRACE_MS } from "../tables/expire.ts";
import { dataKeysOf, filesOfSnapshots } from "../tables/table_files.ts";

export interface SweepRemovalsDeps extends CommitDeps {
  readonly removals: Removals;
  /** What files were entered with; default `REMOVAL_GRACE_MS`. */
  readonly removalGraceMs?: number;
}

/** Files of one sweep; the next takes the others. */
const FILES_MAX = 10_000;
const DELETES_MAX = 500;
/** Between the entry of files and the commit that makes them needless: a pin may still name one. */
const ENTERING_MS = 60_000;

/** Whether `sweepRemovals` has something to do. Errors: the store's, the catalog's. */
export async function hasDueRemovals(
  deps: SweepRemovalsDeps,
  ident: TableIdent,
): Promise<boolean> {
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return false;
  const table = await readerOf(deps).loadTable(ident, location);
  return (await dueOf(deps, table, 1)).length > 0;
}

/**
 * Returns how many data files it removed; 0 also when there is no such table. Errors: the store's,
 * the catalog's.
 */
export async function sweepRemovals(given: SweepRemovalsDeps, ident: TableIdent): Promise<number> {
  const deps = { ...given, reader: readerOf(given) };
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return 0;
  const table = await deps.reader.loadTable(ident, location);
  const due = await dueOf(deps, table, FILES_MAX);
  if (due.length === 0) return 0;
  const { lists, manifests } = await filesOfSnapshots(deps, table, table.metadata.snapshots);
  const live = await dataKeysOf(deps, table, [...manifests.values()]);
  for (const location of [...lists, ...manifests.keys()]) live.add(table.locator.keyOf(location));
  const needless = due.filter((key) => !live.has(key));
  for (let start = 0; start < needless.length; start += DELETES_MAX) {
    const keys = needless.slice(start, start + DELETES_MAX);
    const metadata = keys.filter((key) => !isDataKey(key));
    await deps.store.delete([...withSidecars(keys.filter(isDataKey)), ...metadata]);
    await deps.removals.forget(keys);
  }
  await deps.removals.forget(due.filter((key) => live.has(key)));
  return needless.filter(isDataKey).length;
}

function dueOf(
  { removals, removalGraceMs = REMOVAL_GRACE_MS }: SweepRemovalsDeps,
  { locationKey }: LoadedTable,
  max: number,
): Promise<readonly string[]> {
  return removals.due(locationKey, { max, graceMs: Math.max(0, removalGraceMs - ENTERING_MS) });
}

function isDataKey(key: string): boolean {
  return key.endsWith(".parquet");
}

/**
 * Bounds the table `query_audit`, in one of two ways: it is dropped and made again, or its old
 * snapshots expire and what only they had goes. The files of what is dropped go with those of
 * dropped indexes (`shared/drain/sweep_dropped.ts`), when no statement can read them any more.
 */

import { totalRows } from "../base/total_rows.ts";
import type { IndexCatalog } from "../catalog/index_catalog.ts";
import { QUERY_AUDIT_SCHEMA } from "../schema/query_audit.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { ensureTable } from "../iceberg/commit_append.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { Snapshot } from "../iceberg/table_metadata.ts";
import { applyExpire, type ExpirePolicy, planExpire } from "../tables/expire.ts";
import { applyOrphans, bytesOf, lookForOrphans, type OrphanDeps } from "./orphans.ts";
import { sweepRemovals } from "./sweep_removals.ts";
import { dataKeysOf, filesOfSnapshots } from "../tables/table_files.ts";

/** What a rotation frees. */
export interface AuditRotation {
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  readonly snapshots: number;
}

/**
 * What dropping the table removes: all that it has; undefined when there is none. Errors: those of
 * reading it.
 */
export async function planAuditDrop(
  given: CommitDeps,
  ident: TableIdent,
): Promise<AuditRotation | undefined> {
  const table = await load(given, ident);
  if (table === undefined) return undefined;
  const { files } = await readerOf(given).selectFiles(table);
  return {
    rows: totalRows(files),
    files: files.length,
    bytes: files.reduce((sum, { byteLength }) => sum + byteLength, 0),
    snapshots: table.metadata.snapshots.length,
  };
}

/**
 * Drops the table and makes it again, without rows. When it ends between the two, the next append
 * of a query server makes it. Errors: the catalog's, the store's.
 */
export async function applyAuditDrop(
  deps: CommitDeps & { readonly indexes: Pick<IndexCatalog, "drop"> },
  ident: TableIdent,
): Promise<void> {
  await deps.indexes.drop(ident, { nowMs: deps.clock.nowMs() });
  await ensureTable(deps, { ident, schema: QUERY_AUDIT_SCHEMA });
}

/**
 * What expiring snapshots removes: rows stay, and files count that nothing needs then. Otherwise as
 * `planAuditDrop`.
 */
export async function planAuditExpiry(
  given: OrphanDeps,
  ident: TableIdent,
  policy: ExpirePolicy,
): Promise<AuditRotation | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const table = await load(deps, ident);
  if (table === undefined) return undefined;
  const plan = planExpire(table.metadata, policy, deps.clock.nowMs());
  const orphans = (await lookForOrphans(deps, ident))?.orphans ?? [];
  const data = plan === undefined
    ? new Set<string>()
    : await onlyIn(deps, table, { gone: plan.expired, kept: plan.next.snapshots });
  const listed = await Array.fromAsync(deps.store.list(`${table.locationKey}/data/`));
  const unneeded = listed.filter(({ key }) => data.has(key));
  return {
    rows: 0,
    files: unneeded.length + orphans.length,
    bytes: bytesOf(unneeded) + bytesOf(orphans),
    snapshots: plan?.expired.length ?? 0,
  };
}

/** Keys of data files that snapshots of `gone` have and none of `kept`. */
async function onlyIn(
  deps: CommitDeps,
  table: LoadedTable,
  { gone, kept }: {
    readonly gone: readonly Snapshot[];
    readonly kept: readonly Snapshot[];
  },
): Promise<Set<string>> {
  const keysOf = async (snapshots: readonly Snapshot[]) => {
    const { manifests } = await filesOfSnapshots(deps, table, snapshots, { isLenient: true });
    return await dataKeysOf(deps, table, [...manifests.values()], { isLenient: true });
  };
  const keys = await keysOf(gone);
  for (const key of await keysOf(kept)) keys.delete(key);
  return keys;
}

/**
 * Expires the snapshots and removes files that nothing needs any more; those that a statement may
 * still read go later, with maintenance. Returns how many snapshots expired. Errors: those of a
 * commit, the store's.
 */
export async function applyAuditExpiry(
  deps: OrphanDeps,
  ident: TableIdent,
  policy: ExpirePolicy,
): Promise<number> {
  const expired = await applyExpire(deps, ident, policy);
  await sweepRemovals(deps, ident);
  const orphans = await lookForOrphans(deps, ident);
  if (orphans !== undefined) await applyOrphans(deps, orphans);
  return expired;
}

async function load(given: CommitDeps, ident: TableIdent): Promise<LoadedTable | undefined> {
  const location = await given.catalog.metadataLocation(ident);
  return location === undefined ? undefined : await readerOf(given).loadTable(ident, location);
}

/**
 * Expires a table's oldest snapshots, so that its metadata stays small however many commits it has had.
 *
 * `planExpire` is pure; `applyExpire` commits the smaller metadata and then removes manifest lists, and manifests that
 * no remaining snapshot names. Data files stay: in a history of appends the newest snapshot has them all. Files that
 * another engine has replaced are left for orphan collection.
 */

import { isOperatingError } from "../base/errors.ts";
import type { TableIdent } from "../event/tenant.ts";
import { type CommitDeps, commitTable, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { stageMetadata } from "../iceberg/stage_snapshot.ts";
import type { Snapshot, TableMetadata } from "../iceberg/table_metadata.ts";

export interface ExpirePolicy {
  /** Newest snapshots that are kept. */
  readonly retainLast: number;
  /** Younger ones are kept too: a reader may just have begun with one. */
  readonly ageMsMin: number;
}

/** `SVC_SNAPSHOT_RETAIN_LAST`: SPEC.md section 6. */
export const EXPIRE_POLICY_DEFAULT: ExpirePolicy = { retainLast: 100, ageMsMin: 60_000 };

export interface ExpirePlan {
  readonly expired: readonly Snapshot[];
  /** The metadata without them. */
  readonly next: TableMetadata;
}

/** undefined when nothing is to expire. Snapshots that a branch or tag names are kept. */
export function planExpire(
  metadata: TableMetadata,
  policy: ExpirePolicy,
  nowMs: number,
): ExpirePlan | undefined {
  const named = new Set(Object.values(metadata.refs).map((ref) => ref["snapshot-id"]));
  if (typeof metadata["current-snapshot-id"] === "bigint") {
    named.add(metadata["current-snapshot-id"]);
  }
  const newestFirst = metadata.snapshots.toSorted((a, b) =>
    Number(b["sequence-number"] - a["sequence-number"])
  );
  const expired = newestFirst.slice(policy.retainLast).filter((snapshot) =>
    !named.has(snapshot["snapshot-id"]) && nowMs - snapshot["timestamp-ms"] >= policy.ageMsMin
  );
  if (expired.length === 0) return undefined;
  const gone = new Set(expired.map((snapshot) => snapshot["snapshot-id"]));
  return { expired, next: withoutSnapshots(metadata, gone, nowMs) };
}

function withoutSnapshots(
  metadata: TableMetadata,
  gone: ReadonlySet<bigint>,
  nowMs: number,
): TableMetadata {
  const log = metadata["snapshot-log"];
  // A gap in the log would tell a wrong history: what lies before an expired snapshot goes with it.
  const lastGone = log.findLastIndex((entry) => gone.has(entry["snapshot-id"]));
  const next: Record<string, unknown> = {
    ...metadata,
    "last-updated-ms": Math.max(nowMs, metadata["last-updated-ms"]),
    snapshots: metadata.snapshots.filter((snapshot) => !gone.has(snapshot["snapshot-id"])),
    "snapshot-log": log.slice(lastGone + 1),
  };
  for (const member of ["statistics", "partition-statistics"]) {
    const list = next[member];
    if (Array.isArray(list)) {
      next[member] = list.filter((entry) => !gone.has(BigInt(entry["snapshot-id"])));
    }
  }
  return next as TableMetadata;
}

/** Returns how many snapshots expired; 0 also when there is no such table. Errors: those of `commitTable`. */
export async function applyExpire(
  given: CommitDeps,
  ident: TableIdent,
  policy: ExpirePolicy,
): Promise<number> {
  const deps = { ...given, reader: readerOf(given) };
  let expired = 0;
  await commitTable(deps, ident, async (table, staging) => {
    expired = 0;
    if (table === undefined) return undefined;
    const plan = planExpire(table.metadata, policy, deps.clock.nowMs());
    if (plan === undefined) return undefined;
    const unneeded = await unneededKeys(deps, table, plan);
    const staged = await stageMetadata(deps, { table, exists: true }, { next: plan.next, staging });
    expired = plan.expired.length;
    return {
      ...staged,
      snapshotId: 0n,
      consumed: [],
      obsolete: [...staged.obsolete, ...unneeded],
    };
  });
  return expired;
}

/** Keys of manifest lists and manifests that only expired snapshots have. */
async function unneededKeys(
  deps: CommitDeps,
  table: LoadedTable,
  plan: ExpirePlan,
): Promise<string[]> {
  const needed = new Set<string>();
  for (const snapshot of plan.next.snapshots) {
    for (const location of await locationsOf(deps, table, snapshot)) needed.add(location);
  }
  const unneeded = new Set<string>();
  for (const snapshot of plan.expired) {
    for (const location of await locationsOfExpired(deps, table, snapshot)) {
      if (!needed.has(location)) unneeded.add(table.locator.keyOf(location));
    }
  }
  return [...unneeded];
}

/** A snapshot's manifest list and manifests. */
async function locationsOf(
  deps: CommitDeps,
  table: LoadedTable,
  snapshot: Snapshot,
): Promise<string[]> {
  const asOf: LoadedTable = {
    ...table,
    metadata: { ...table.metadata, "current-snapshot-id": snapshot["snapshot-id"] },
  };
  const manifests = await readerOf(deps).manifests(asOf);
  return [snapshot["manifest-list"] ?? [], ...manifests.map((one) => one.location)].flat();
}

async function locationsOfExpired(
  deps: CommitDeps,
  table: LoadedTable,
  snapshot: Snapshot,
): Promise<string[]> {
  try {
    return await locationsOf(deps, table, snapshot);
  } catch (error) {
    // Its list is gone: someone removed it before us.
    if (isOperatingError(error, "not_found")) return [];
    throw error;
  }
}

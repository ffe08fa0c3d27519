/**
 * Expires a table's oldest snapshots, so that its metadata stays small however many commits it has
 * had.
 *
 * `planExpire` is pure; `applyExpire` commits the smaller metadata. The files that only expired
 * snapshots have are entered for removal (`catalog/removals.ts`) before the commit: manifest lists,
 * manifests and data files alike. `sweepRemovals` removes them once nobody can read them any more.
 */

import type { Removals } from "../catalog/removals.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, commitTable, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { stageMetadata } from "../iceberg/stage_snapshot.ts";
import { dataKeysOf, filesOfSnapshots } from "./table_files.ts";
import type { Snapshot, TableMetadata } from "../iceberg/table_metadata.ts";

/**
 * Which snapshots stay. A table's properties `history.expire.min-snapshots-to-keep` and
 * `history.expire.max-snapshot-age-ms` win over it: they are Iceberg's own.
 */
export interface ExpirePolicy {
  /** Newest snapshots that are kept, however old they are. */
  readonly retainLast: number;
  /** Kept are those, too, that were a table's newest within this time: a reader may have one. */
  readonly ageMsMin: number;
  /** Default `REMOVAL_GRACE_MS`. */
  readonly removalGraceMs?: number;
}

/**
 * By default time alone decides: a snapshot keeps the files that merges replaced, which are as many
 * bytes as the table again. Five minutes serve the pages of a walk, and readers of other programs.
 */
export const EXPIRE_POLICY_DEFAULT: ExpirePolicy = { retainLast: 1, ageMsMin: 300_000 };

/** Snapshots that go, and the files that only they need. */
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
  const { retainLast, ageMsMin } = policyOf(metadata, policy);
  const expired = newestFirst.filter((snapshot, at) => {
    if (at < retainLast || named.has(snapshot["snapshot-id"])) return false;
    // It was the newest until the next one came.
    const endedMs = newestFirst[at - 1]?.["timestamp-ms"] ?? nowMs;
    return nowMs - endedMs >= ageMsMin;
  });
  if (expired.length === 0) return undefined;
  const gone = new Set(expired.map((snapshot) => snapshot["snapshot-id"]));
  return { expired, next: withoutSnapshots(metadata, gone, nowMs) };
}

/** The policy with what the table's own properties say. What is no number there is not heeded. */
function policyOf({ properties }: TableMetadata, policy: ExpirePolicy): ExpirePolicy {
  const numberOf = (name: string) => {
    const text = properties[`history.expire.${name}`] ?? "";
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  return {
    ...policy,
    retainLast: Math.max(1, numberOf("min-snapshots-to-keep") ?? policy.retainLast),
    ageMsMin: numberOf("max-snapshot-age-ms") ?? policy.ageMsMin,
  };
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

export interface ExpireDeps extends CommitDeps {
  /**
   * Where files are entered that only expired snapshots have. Without it nothing expires while
   * there are such data files: that is left to maintenance, which has it. Manifests go at once.
   */
  readonly removals?: Removals;
}

/**
 * How long a file outlives the last snapshot that has it. A statement that may take longer
 * than `SHORT_READ_MS_MAX` enters itself in the catalog (`LongReads`) before it chooses a snapshot.
 * The rest is for one that is being stopped.
 */
export const REMOVAL_GRACE_MS = 90_000;
/** Statements with no more time than this enter themselves nowhere. */
export const SHORT_READ_MS_MAX = 60_000;

/** Whether `applyExpire` has something to do. Errors: those of reading the table. */
export async function hasExpired(
  deps: ExpireDeps,
  ident: TableIdent,
  policy: ExpirePolicy,
): Promise<boolean> {
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return false;
  const { metadata } = await readerOf(deps).loadTable(ident, location);
  return planExpire(metadata, policy, deps.clock.nowMs()) !== undefined;
}

/**
 * Returns how many snapshots expired; 0 also when there is no such table. Errors: those of
 * `commitTable`.
 */
export async function applyExpire(
  given: ExpireDeps,
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
    const unneeded = await unneededFiles(deps, table, plan);
    const { removals } = deps;
    if (removals === undefined && unneeded.data.length > 0) return undefined;
    const graceMs = policy.removalGraceMs ?? REMOVAL_GRACE_MS;
    const keys = [...unneeded.metadata, ...unneeded.data];
    await removals?.enter(table.locationKey, keys, graceMs);
    const staged = stageMetadata(deps, { table, exists: true }, { next: plan.next, staging });
    expired = plan.expired.length;
    return {
      ...staged,
      snapshotId: 0n,
      consumed: [],
      obsolete: [...staged.obsolete, ...removals === undefined ? unneeded.metadata : []],
    };
  });
  return expired;
}

interface UnneededFiles {
  /** Keys of manifest lists and manifests. */
  readonly metadata: readonly string[];
  /** Keys of data files. */
  readonly data: readonly string[];
}

/** What only expired snapshots have. */
async function unneededFiles(
  deps: CommitDeps,
  table: LoadedTable,
  plan: ExpirePlan,
): Promise<UnneededFiles> {
  const kept = await filesOfSnapshots(deps, table, plan.next.snapshots);
  const expired = await filesOfSnapshots(deps, table, plan.expired, { isLenient: true });
  const needed = new Set([...kept.lists, ...kept.manifests.keys()]);
  const metadata = [...expired.lists, ...expired.manifests.keys()]
    .filter((location) => !needed.has(location));
  // A manifest that stays names files that stay: only what goes can be the last to name a file.
  const going = [...expired.manifests.values()].filter(({ location }) => !needed.has(location));
  const candidates = await dataKeysOf(deps, table, going, { isLenient: true });
  if (candidates.size === 0) return { metadata: keysOf(table, metadata), data: [] };
  const live = await dataKeysOf(deps, table, [...kept.manifests.values()]);
  const data = [...candidates].filter((key) => !live.has(key)).sort();
  return { metadata: keysOf(table, metadata), data };
}

function keysOf(table: LoadedTable, locations: readonly string[]): string[] {
  return locations.map((location) => table.locator.keyOf(location));
}

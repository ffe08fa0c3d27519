/** What maintenance does behind drains: segments whose rows are committed go, and their copies. */

import type { LaneId } from "../tenant/tenant.ts";
import { removeMirrored } from "../wal/mirror/mirror_active.ts";
import { isMirrorable } from "../wal/mirror/mirror_layout.ts";
import { mirroredBytes } from "../wal/mirror/mirrored_bytes.ts";
import { reclaimMirror } from "../wal/mirror/reclaim_mirror.ts";
import type { MissingSegment } from "../wal/types.ts";
import type { DrainDeps } from "./drain.ts";

/**
 * Removes the lane's committed segments that no reader needs any more, first from the mirror, then
 * here. Last it has the catalog keep their ids in little room. When a sweep ends in between, or
 * finds no store, the next one makes up for it, since the segment is still here. A sweep that ends
 * before the last step leaves a few bytes more in the catalog. Returns the number of segments
 * removed. A drain without the WAL volume has nothing to do here. `isLookedAt`: a drain has just
 * moved what others committed.
 */
export async function sweepLane(
  deps: DrainDeps,
  lane: LaneId,
  { isLookedAt = false }: { readonly isLookedAt?: boolean } = {},
): Promise<number> {
  if (deps.claiming !== undefined) return 0;
  if (!isLookedAt) await moveConsumed(deps, lane);
  await lookForMissing(deps, lane);
  const { store, mirrorPrefix: prefix } = deps;
  const removed = await deps.admin.sweepCommitted(lane, deps.clock.nowMs(), async (names) => {
    if (prefix === undefined || !isMirrorable(lane)) return;
    await removeMirrored({ store, prefix }, lane, new Set(names));
  });
  if (removed.length === 0) return 0;
  await deps.catalog.foldConsumed(removed);
  deps.observer?.swept?.(lane, removed.length);
  return removed.length;
}

/**
 * Removes copies of committed segments that no sweep of theirs has removed: their machine is gone.
 * Returns how many. Errors: of the store, the catalog; the signal's reason.
 */
export async function sweepMirror(deps: DrainDeps, signal?: AbortSignal): Promise<number> {
  const { store, mirrorPrefix: prefix, catalog, clock, observer } = deps;
  if (prefix === undefined) return 0;
  const options = { nowMs: clock.nowMs(), ...(signal === undefined ? {} : { signal }) };
  const removed = await reclaimMirror({ store, prefix }, catalog, options);
  if (removed > 0) observer?.reclaimed?.(removed);
  return removed;
}

/** Tells which sealed segments are gone; what the mirror has of them is brought back. */
async function lookForMissing(deps: DrainDeps, lane: LaneId): Promise<void> {
  const { admin, catalog, observer } = deps;
  const missing = await admin.missing(lane, (names) => catalog.consumedOf(names));
  const { store, mirrorPrefix: prefix } = deps;
  const left: MissingSegment[] = [];
  for (const segment of missing) {
    const { name } = segment;
    const copy = prefix === undefined
      ? undefined
      : await mirroredBytes({ store, prefix }, lane, name);
    if (copy === undefined || !await admin.restore(lane, name, copy)) left.push(segment);
    else observer?.restored?.(lane, name);
  }
  observer?.missing?.(lane, left);
}

/**
 * A drain elsewhere commits segments that are sealed here: nobody else takes them out of the way.
 */
async function moveConsumed({ wal, catalog, admin }: DrainDeps, lane: LaneId): Promise<void> {
  const sealed = (await wal.names(lane, ["sealed"])).map((segment) => segment.name);
  const consumed = await catalog.consumedOf(sealed);
  if (consumed.size > 0) {
    await admin.markCommitted(
      lane,
      sealed.filter((name) => consumed.has(name)),
    );
  }
}

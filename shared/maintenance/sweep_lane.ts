/** What maintenance does to one lane behind its drains: segments whose rows are committed go. */

import type { LaneId } from "../event/tenant.ts";
import { removeActiveCopies } from "../wal/mirror/mirror_active.ts";
import { isMirrorable, segmentKey } from "../wal/mirror/mirror_layout.ts";
import type { DrainDeps } from "./drain.ts";

/**
 * Removes the lane's committed segments that no reader needs any more, first here, then from the mirror, and last lets
 * the catalog forget them: in this order, as a segment that is forgotten while a copy of it is anywhere would count as
 * new rows. A sweep that ends in between leaves a few bytes in the catalog, or an object in the mirror that the catalog
 * knows for ever. Returns the number of segments removed. Nothing to do for a drain without the WAL volume.
 */
export async function sweepLane(deps: DrainDeps, lane: LaneId): Promise<number> {
  if (deps.claiming !== undefined) return 0;
  await moveConsumed(deps, lane);
  const removed = await deps.admin.sweepCommitted(lane, deps.clock.nowMs());
  if (removed.length === 0) return 0;
  const { mirrorPrefix } = deps;
  if (mirrorPrefix !== undefined && isMirrorable(lane)) {
    await deps.store.delete(removed.map((name) => segmentKey(mirrorPrefix, lane, name)));
    const mirror = { store: deps.store, prefix: mirrorPrefix };
    await removeActiveCopies(mirror, lane, new Set(removed));
  }
  await deps.catalog.forgetConsumed(removed);
  deps.observer?.swept?.(lane, removed.length);
  return removed.length;
}

/** A drain elsewhere commits segments that are sealed here: nobody else takes them out of the way. */
async function moveConsumed({ wal, catalog, admin }: DrainDeps, lane: LaneId): Promise<void> {
  const sealed = (await wal.list(lane, ["sealed"])).map((segment) => segment.name);
  const consumed = await catalog.consumedOf(sealed);
  if (consumed.size > 0) {
    await admin.markCommitted(
      lane,
      sealed.filter((name) => consumed.has(name)),
    );
  }
}

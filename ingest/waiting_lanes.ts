/**
 * The lanes whose rows an earlier process left in the WAL: their indexes are there, though no table
 * may be yet and this process has stored nothing in them.
 */

import { type LaneId, laneName } from "../shared/tenant/tenant.ts";
import type { WalReader } from "../shared/wal/types.ts";

/** Tells of a lane whether it has rows now that no drain has taken. */
export async function findWaitingLanes(
  reader: Pick<WalReader, "lanes" | "list">,
): Promise<(lane: LaneId) => boolean> {
  const waiting = new Set<string>();
  for (const lane of await reader.lanes()) {
    const segments = await reader.list(lane, ["active", "sealed"]);
    if (segments.length > 0) waiting.add(laneName(lane));
  }
  return (lane) => waiting.has(laneName(lane));
}

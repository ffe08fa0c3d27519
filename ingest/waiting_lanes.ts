/**
 * The lanes whose rows an earlier process left in the WAL: their indexes are there, though no table
 * may be yet and this process has stored nothing in them.
 */

import { laneName } from "../shared/tenant/tenant.ts";
import type { WalReader } from "../shared/wal/types.ts";

/** Names of the lanes with rows that no drain has taken, as `laneName` gives them. */
export async function waitingLanes(
  reader: Pick<WalReader, "lanes" | "list">,
): Promise<ReadonlySet<string>> {
  const waiting = new Set<string>();
  for (const lane of await reader.lanes()) {
    const segments = await reader.list(lane, ["active", "sealed"]);
    if (segments.length > 0) waiting.add(laneName(lane));
  }
  return waiting;
}

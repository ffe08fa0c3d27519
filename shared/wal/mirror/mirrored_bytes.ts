/** The bytes of one segment as the mirror has them: for putting it back where it was lost. */

import { isOperatingError } from "../../base/errors.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { isMirrorable, lanePrefix, parseMirrorKey } from "./mirror_layout.ts";
import { fetchSegment, segmentBytesOf } from "./packed_segment.ts";

/**
 * Undefined where the mirror has no sealed copy of it, or none that unpacks. Errors: the store's.
 */
export async function mirroredBytes(
  { store, prefix }: { readonly store: ReadableStore; readonly prefix: string },
  lane: LaneId,
  name: string,
): Promise<Uint8Array | undefined> {
  if (!isMirrorable(lane)) return undefined;
  for await (const { key, size } of store.list(`${lanePrefix(prefix, lane)}${name}`)) {
    const object = parseMirrorKey(prefix, key);
    if (object === undefined || object.isActive || object.name !== name) continue;
    const { isPacked, bytes = size } = object;
    const stored = { key, isPacked, bytes, storedBytes: size };
    try {
      return segmentBytesOf(await fetchSegment(store, stored), stored);
    } catch (error) {
      if (!isOperatingError(error, "corrupt") && !isOperatingError(error, "not_found")) throw error;
    }
  }
  return undefined;
}

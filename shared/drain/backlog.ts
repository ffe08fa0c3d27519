/** How much waits for a drain: merges stand back while it is much. */

import type { CatalogReader } from "../catalog/catalog.ts";
import type { SegmentInfo, WalReader } from "../wal/types.ts";
import type { DrainGate, WaitingSegment } from "./plan_drain.ts";

/**
 * Whether sealed segments that no table holds have more than `bytes` of rows, over all lanes. A
 * mirror lists those that are in a table as sealed until they are swept. Errors: the WAL's, the
 * catalog's.
 */
export async function isBacklogOver(
  bytes: number,
  wal: Pick<WalReader, "lanes" | "list" | "messageBytes">,
  catalog: Pick<CatalogReader, "consumedOf">,
): Promise<boolean> {
  let left = bytes;
  for (const lane of await wal.lanes()) {
    const sealed = await wal.list(lane, ["sealed"]);
    const consumed = await catalog.consumedOf(sealed.map(({ name }) => name));
    for (const segment of sealed) {
      if (consumed.has(segment.name)) continue;
      left -= await wal.messageBytes(segment);
      if (left < 0) return true;
    }
  }
  return false;
}

/**
 * `segments` with the bytes of their rows, as far as `gate` asks: those behind count what their
 * files do, which is never more. `consumed` ones count nothing. Errors: the WAL's.
 */
export async function weighed(
  wal: Pick<WalReader, "messageBytes">,
  segments: readonly SegmentInfo[],
  { gate, consumed }: { readonly gate: DrainGate; readonly consumed: ReadonlySet<string> },
): Promise<WaitingSegment[]> {
  let left = gate.commitBytesMax + gate.targetBytes;
  const waiting: WaitingSegment[] = [];
  for (const segment of segments) {
    let messageBytes = consumed.has(segment.name) ? 0 : segment.byteLength;
    if (left > 0 && messageBytes > 0) messageBytes = await wal.messageBytes(segment);
    left -= messageBytes;
    waiting.push({ ...segment, messageBytes });
  }
  return waiting;
}

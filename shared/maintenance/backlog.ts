/** How much waits for a drain: merges stand back while it is much. */

import type { WalReader } from "../wal/types.ts";

/** Bytes of sealed segments over all lanes. Errors: the WAL's. */
export async function backlogBytes(wal: Pick<WalReader, "lanes" | "list">): Promise<number> {
  let bytes = 0;
  for (const lane of await wal.lanes()) {
    for (const segment of await wal.list(lane, ["sealed"])) bytes += segment.byteLength;
  }
  return bytes;
}

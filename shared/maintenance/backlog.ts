/** How much waits for a drain: merges stand back while it is much. */

import type { CatalogReader } from "../catalog/catalog.ts";
import type { WalReader } from "../wal/types.ts";

/**
 * Bytes of sealed segments that no table holds, over all lanes. A mirror lists those that are in a table as sealed until
 * they are swept. Errors: the WAL's, the catalog's.
 */
export async function backlogBytes(
  wal: Pick<WalReader, "lanes" | "list">,
  catalog: Pick<CatalogReader, "consumedOf">,
): Promise<number> {
  let bytes = 0;
  for (const lane of await wal.lanes()) {
    const sealed = await wal.list(lane, ["sealed"]);
    const consumed = await catalog.consumedOf(sealed.map(({ name }) => name));
    for (const { name, byteLength } of sealed) if (!consumed.has(name)) bytes += byteLength;
  }
  return bytes;
}

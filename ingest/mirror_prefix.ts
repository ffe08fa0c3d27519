/** Where in the warehouse this server's options have the WAL mirrored to. */

import { parseMirrorPrefix } from "../shared/wal/mirror/mirror_layout.ts";
import type { IngestSettings } from "./flags.ts";

/** Empty for no mirror. Errors: `invalid_argument` for a prefix that cannot be. */
export function mirrorPrefixOf(
  { walMirrorPrefix, warehouseUrl }: Pick<IngestSettings, "walMirrorPrefix" | "warehouseUrl">,
): string {
  return parseMirrorPrefix(walMirrorPrefix, { hasWarehouseUrl: warehouseUrl !== undefined });
}

/**
 * How much is kept of indexes when no option says: docs/api/command_line.md#options-of-the-servers.
 */

import type { IndexCacheSizes } from "./sidecar_indexes.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/**
 * The default sizes. `limitBytes` is the memory that the process can have; Infinity where that is
 * not known.
 */
export function defaultIndexCacheSizes(limitBytes: number): IndexCacheSizes {
  return {
    parsedBytesMax: share(limitBytes / 16, { min: 64 * MIB, max: GIB }),
    blobBytesMax: share(limitBytes / 64, { min: 16 * MIB, max: 256 * MIB }),
    blobEntriesMax: 128,
  };
}

function share(
  bytes: number,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  return Number.isFinite(bytes) ? Math.min(max, Math.max(min, Math.floor(bytes))) : min;
}

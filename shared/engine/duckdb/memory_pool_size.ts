/**
 * How much memory queries share when no option says: half of what the process can have, at least
 * 256 MiB.
 */

const POOL_BYTES_MIN = 256 * 1024 * 1024;

/** Bytes of the pool; `limitBytes` is Infinity where the limit is not known. */
export function defaultPoolBytes(limitBytes: number): number {
  if (!Number.isFinite(limitBytes)) return POOL_BYTES_MIN;
  return Math.max(POOL_BYTES_MIN, Math.floor(limitBytes / 2));
}

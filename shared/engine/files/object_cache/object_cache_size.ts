/**
 * How much is kept of an object store's files when no option says:
 * docs/api/command_line.md#options-of-the-servers.
 */

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const BYTES_MIN = 64 * MIB;
const BYTES_MAX = 16 * GIB;
const BYTES_WITHOUT_LIMIT = GIB;

/**
 * Default bytes: a quarter of the container's memory limit, which is Infinity where there is none.
 */
export function defaultObjectCacheBytes(limitBytes: number): number {
  if (!Number.isFinite(limitBytes)) return BYTES_WITHOUT_LIMIT;
  return Math.min(BYTES_MAX, Math.max(BYTES_MIN, Math.floor(limitBytes / 4)));
}

/**
 * The hash that index formats are made with: 32-bit FNV-1a, then mixed, since it is its highest
 * bits that are kept. Part of the formats: another hash is another version of them.
 */

export const HASH_START = 0x811c9dc5 | 0;
const PRIME = 0x01000193;

/** The hash so far, with one more byte. */
export function hashByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, PRIME);
}

/** The 32-bit FNV-1a hash of `bytes`, going on from `hash`. */
export function hashBytes(bytes: Uint8Array, hash = HASH_START): number {
  return hashBetween(bytes, 0, bytes.length, hash);
}

/** The hash of the bytes from `start` to `end`, going on from `hash`. */
export function hashBetween(
  bytes: Uint8Array,
  start: number,
  end: number,
  hash = HASH_START,
): number {
  let sum = hash;
  for (let at = start; at < end; at += 1) sum = hashByte(sum, bytes[at] as number);
  return sum;
}

/** A finished hash, unsigned. */
export function mixed(hash: number): number {
  let sum = hash;
  sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}

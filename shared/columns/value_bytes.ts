/**
 * Values compared by their bytes, four at a time: what hash tables over a column's own buffer need.
 */

/** A hash of these bytes, the same for the same bytes. `length` is their number. */
export function hashOfBytes(view: DataView, start: number, length: number): number {
  let hash = Math.imul(length + 1, 0x9e3779b1);
  let at = start;
  const end = start + length;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ view.getUint8(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
  return hash ^ (hash >>> 13);
}

/** Whether `length` bytes from `aStart` on are those from `bStart` on. */
export function areSameBytesAt(
  a: DataView,
  aStart: number,
  b: DataView,
  bStart: number,
  length: number,
): boolean {
  if (length < 4) {
    for (let at = 0; at < length; at += 1) {
      if (a.getUint8(aStart + at) !== b.getUint8(bStart + at)) return false;
    }
    return true;
  }
  // The last four may have been compared in part.
  const last = length - 4;
  for (let at = 0; at < last; at += 4) {
    if (a.getInt32(aStart + at, true) !== b.getInt32(bStart + at, true)) return false;
  }
  return a.getInt32(aStart + last, true) === b.getInt32(bStart + last, true);
}

/**
 * Numbers of few bits, one after the other, lowest bit first: as Parquet packs levels, places in
 * dictionaries and deltas.
 */

import type { ByteBuilder } from "../../columns/byte_builder.ts";

/** Bits of a number that are shifted at a time, behind up to seven that wait. */
const STEP_BITS = 24;
const STEP = 2 ** STEP_BITS;

/** How many bits whole numbers up to `most` (below 2^53) take. */
export function bitsOf(most: number): number {
  const high = Math.floor(most / 0x1_0000_0000);
  return high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(most);
}

/** Values `from` to `to`, each of `width` bits, to a full byte. */
export function packBits(
  target: ByteBuilder,
  values: { readonly [at: number]: number },
  { from, to, width }: { readonly from: number; readonly to: number; readonly width: number },
): void {
  target.reserve(Math.ceil((to - from) * width / 8));
  const { bytes } = target;
  let { length } = target;
  let pending = 0;
  let count = 0;
  for (let at = from; at < to; at += 1) {
    let value = values[at] as number;
    let left = width;
    for (; left > STEP_BITS; left -= STEP_BITS) {
      pending |= (value % STEP) << count;
      value = Math.floor(value / STEP);
      bytes[length] = pending;
      bytes[length + 1] = pending >>> 8;
      bytes[length + 2] = pending >>> 16;
      length += 3;
      pending >>>= STEP_BITS;
    }
    pending |= value << count;
    count += left;
    for (; count >= 8; count -= 8) {
      bytes[length] = pending;
      length += 1;
      pending >>>= 8;
    }
  }
  if (count > 0) {
    bytes[length] = pending;
    length += 1;
  }
  target.length = length;
}

/** Appends zeros until `target` has `length` bytes. */
export function fillTo(target: ByteBuilder, length: number): void {
  target.reserve(length - target.length);
  target.bytes.fill(0, target.length, length);
  target.length = length;
}

/**
 * One key among those of a block of a value index: README.md has the bytes. A lookup of a value
 * goes through a block of each data file, so bits are kept in local variables: that takes half of
 * the time of a `BitReader`.
 */

import { pastEnd } from "./bits.ts";
import { KEY_EXTRA_BITS } from "./values_format.ts";

/** The extra bits of a distance, then the bit that tells a single granule. */
const LOW_BITS = KEY_EXTRA_BITS + 1;
const EXTRA_MASK = 2 ** KEY_EXTRA_BITS - 1;

export interface FoundKey {
  /** Whether it is in a single granule. */
  readonly isSingle: boolean;
  /** How many keys of its kind come before it. */
  readonly before: number;
  /** How many keys of the block are in a single granule. */
  readonly singles: number;
  /** Where the byte ends that the last key ends in. */
  readonly end: number;
}

/**
 * The key at `distance` from the first of `count` keys, whose bits begin at `start`. Undefined: it
 * is not among them. Errors: `corrupt` past the end.
 */
export function findKey(
  bytes: Uint8Array,
  { start, count, distance }: {
    readonly start: number;
    readonly count: number;
    readonly distance: number;
  },
): FoundKey | undefined {
  let at = start;
  let pending = 0;
  let held = 0;
  let sum = 0;
  let singles = 0;
  let found: Pick<FoundKey, "isSingle" | "before"> | undefined;
  for (let key = 0; key < count; key += 1) {
    for (;;) {
      for (; held <= 24 && at < bytes.length; held += 8) pending |= (bytes[at++] as number) << held;
      if (pending !== 0) break;
      if (held === 0) throw pastEnd();
      sum += held << KEY_EXTRA_BITS;
      held = 0;
    }
    const zeros = 31 - Math.clz32(pending & -pending);
    pending = zeros < 31 ? pending >>> (zeros + 1) : 0;
    held -= zeros + 1;
    for (; held < LOW_BITS && at < bytes.length; held += 8) {
      pending |= (bytes[at++] as number) << held;
    }
    if (held < LOW_BITS) throw pastEnd();
    sum += (zeros << KEY_EXTRA_BITS) + (pending & EXTRA_MASK);
    const isSingle = (pending >>> KEY_EXTRA_BITS & 1) === 1;
    pending >>>= LOW_BITS;
    held -= LOW_BITS;
    if (sum === distance) found = { isSingle, before: isSingle ? singles : key - singles };
    if (sum > distance && found === undefined) return undefined;
    if (isSingle) singles += 1;
  }
  return found && { ...found, singles, end: at - (held >> 3) };
}

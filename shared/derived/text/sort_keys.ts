/** Sorting by keys of few bits: as many passes as these have digits (radix sort). */

import { scratchInts } from "./scratch.ts";

/** Bits of a digit. */
const DIGIT_BITS = 11;
const DIGITS = 2 ** DIGIT_BITS;

/** Keys in ascending order, and whose each is. */
export interface SortedKeys {
  readonly keys: Uint32Array;
  /** The first of those with the same key comes first. */
  readonly things: Uint32Array;
}

/** Thing n has key n, below 2^`bits`, at most 32. `keys` are used as memory. */
export function sortedByKey(keys: Uint32Array, bits: number): SortedKeys {
  let from: SortedKeys = { keys, things: scratchInts(keys.length) };
  let to: SortedKeys = { keys: scratchInts(keys.length), things: scratchInts(keys.length) };
  for (let thing = 0; thing < keys.length; thing += 1) from.things[thing] = thing;
  for (let shift = 0; shift < bits; shift += DIGIT_BITS) {
    sortByDigit(from, to, shift);
    [from, to] = [to, from];
  }
  return from;
}

function sortByDigit(from: SortedKeys, to: SortedKeys, shift: number): void {
  const { length } = from.keys;
  /** By digit: where the next goes. */
  const next = new Uint32Array(DIGITS + 1);
  for (let at = 0; at < length; at += 1) {
    const digit = (from.keys[at] as number) >>> shift & DIGITS - 1;
    next[digit + 1] = (next[digit + 1] as number) + 1;
  }
  for (let digit = 1; digit < DIGITS; digit += 1) {
    next[digit] = (next[digit] as number) + (next[digit - 1] as number);
  }
  for (let at = 0; at < length; at += 1) {
    const key = from.keys[at] as number;
    const digit = key >>> shift & DIGITS - 1;
    const place = next[digit] as number;
    next[digit] = place + 1;
    to.keys[place] = key;
    to.things[place] = from.things[at] as number;
  }
}

/**
 * What the writer and the reader of pair indexes share; README.md says what they are for. Their
 * bytes are a value index's.
 */

import { hashBytes, mixed } from "./hash.ts";
import { TERM_BYTES_MAX } from "./sort_terms.ts";

export const PAIRS_TYPE = "svc-pairs-v1";
/**
 * Property of a blob: words in so many granules of the word index, and more, have their pairs
 * listed.
 */
export const GRANULES_MIN_PROPERTY = "word-granules-min";

/** Whether the word begins with no digit and is kept whole by a word index. */
export function isPairable(word: Uint8Array): boolean {
  const [first = 0x30] = word;
  return word.length < TERM_BYTES_MAX && (first < 0x30 || first > 0x39);
}

/**
 * Whether a word in `count` of `total` granules has its pairs listed. One in more than half has no
 * list in a word index.
 */
export function isFrequent(count: number, { total, min }: {
  readonly total: number;
  readonly min: number;
}): boolean {
  return 2 * count > total || count >= min;
}

/** Never 0. */
export function wordHash(word: Uint8Array): number {
  return mixed(hashBytes(word)) || 1;
}

/**
 * The hash of a pair, by the hashes of two words, the first of which stands directly before the
 * second.
 */
export function pairHash(first: number, second: number): number {
  return mixed(Math.imul(first, 31) + second | 0);
}

/**
 * Which words of a text column stand side by side, and where: for phrases of words that are in too
 * many rows to tell much one by one. The places of rarer words tell enough by themselves. Words
 * that begin with a digit have as many neighbours as rows, and are left out.
 */

import { throwIfLate } from "../../os/task_deadline.ts";
import type { ColumnValues } from "./collect_values.ts";
import type { Sequence, Words } from "./collect_words.ts";
import { mixed } from "./hash.ts";
import { HashTable } from "./hash_table.ts";
import { Occurrences } from "./occurrences.ts";
import { isFrequent, isPairable, pairHash, wordHash } from "./pairs_format.ts";
import { PlaceLists } from "./place_lists.ts";
import { COLUMN_PLAIN, columnHashes } from "./values_format.ts";
import { granulesOf } from "./words_format.ts";

/** A pair that is where its rarer word is, or mostly, tells hardly more than the word. */
const SHARE_WORTH_LISTING = 1 / 2;

export interface Pairs {
  readonly values: ColumnValues;
  /** Words in so many granules, and more, are of pairs. */
  readonly granulesMin: number;
}

/**
 * Words that are in so many granules that two of them meet by chance in one row group of four have
 * their pairs listed.
 */
const CHANCE = 1 / 4;

/**
 * Collects pairs of words of column `id` in granules of 2^`shift` rows. The column's word index has
 * granules of 2^`wordShift` rows. Errors: `TooMuchToIndex`.
 */
export function collectPairs(
  id: number,
  words: Words & { readonly sequence: Sequence },
  { rows, rowGroupRows, shift, wordShift }: {
    readonly rows: number;
    readonly rowGroupRows: number;
    readonly shift: number;
    readonly wordShift: number;
  },
): Pairs {
  const total = granulesOf(rows, wordShift);
  const perRowGroup = Math.min(total, Math.max(1, rowGroupRows / 2 ** wordShift));
  const min = Math.max(2, Math.ceil(total * Math.sqrt(CHANCE / perRowGroup)));
  const hashes = hashesOf(words, { total, min, coarser: wordShift - shift });
  const table = new HashTable();
  /** By pair: in how many granules its rarer word is. */
  const ofRarer: number[] = [];
  const granulesWith = (term: number) =>
    (words.places.starts[term + 1] as number) - (words.places.starts[term] as number);
  const occurrences = new Occurrences();
  const unknown = words.disputed.length === 0
    ? undefined
    : table.numberOf(mixed(columnHashes(id).unknown));
  if (unknown !== undefined) ofRarer.push(Infinity);
  const disputed = new Set(words.disputed);
  const { terms, rowEnds } = words.sequence;
  /**
   * By term: the one that last stood behind it, one more than its number, and the pair that they
   * are.
   */
  const behind = new Uint32Array(words.table.count);
  const pairs = new Uint32Array(words.table.count);
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    throwIfLate();
    const granule = row >>> shift;
    occurrences.moveTo(granule);
    if (unknown !== undefined && disputed.delete(granule)) occurrences.add(unknown);
    const end = rowEnds[row] as number;
    for (let before = 0; at < end; at += 1) {
      const term = terms[at] as number;
      const hash = hashes[term] as number;
      if (hash !== 0 && before !== 0) {
        const first = terms[at - 1] as number;
        if (behind[first] !== term + 1) {
          const pair = table.numberOf(pairHash(before, hash));
          if (pair === ofRarer.length) {
            ofRarer.push(Math.min(granulesWith(first), granulesWith(term)));
          }
          behind[first] = term + 1;
          pairs[first] = pair;
        }
        occurrences.add(pairs[first] as number);
      }
      before = hash;
    }
  }
  const found = table.hashes();
  const places = occurrences.finish(found.length);
  return {
    values: {
      id,
      kind: COLUMN_PLAIN,
      hasUnknown: unknown !== undefined,
      hashes: found,
      places,
      unlisted: Uint8Array.from(ofRarer, (count, pair) => {
        const own = (places.starts[pair + 1] as number) - (places.starts[pair] as number);
        return own > count * SHARE_WORTH_LISTING ? 1 : 0;
      }),
    },
    granulesMin: min,
  };
}

/** By term; 0: it has no pairs. */
function hashesOf(
  { table, places }: Words,
  { total, min, coarser }: {
    readonly total: number;
    readonly min: number;
    readonly coarser: number;
  },
): Uint32Array {
  const lists = new PlaceLists(places, coarser);
  const hashes = new Uint32Array(table.count);
  const one = new Uint32Array(1);
  for (let term = 0; term < table.count; term += 1) {
    const count = (places.starts[term + 1] as number) - (places.starts[term] as number);
    if (!isFrequent(count, { total, min })) continue;
    const word = table.bytes.subarray(table.startOf(term), table.endOf(term));
    if (!isPairable(word)) continue;
    one[0] = term;
    if (isFrequent(lists.listOf(one, 0, 1).count, { total, min })) hashes[term] = wordHash(word);
  }
  return hashes;
}

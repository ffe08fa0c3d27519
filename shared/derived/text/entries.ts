/**
 * What a word index keeps of each term, in the order of their bytes.
 *
 * Most of the bytes of a dictionary are tails of identifiers that tell nothing. So a term is cut
 * where only hexadecimal digits follow and it has already parted from both neighbours by a byte
 * more than it must. What is left is still the beginning of the term and of no other, so that a
 * query finds at most one. A byte of the term's hash mostly says whether it is the one. Terms of 64
 * bytes and more are all cut there; those that are then equal are one entry.
 */

import { scratchBytes, scratchInts } from "./scratch.ts";
import { commonBytes, TERM_BYTES_MAX } from "./sort_terms.ts";
import type { TermTable } from "./term_table.ts";
import { CUT_ANY, CUT_DIGITS, isHexDigit } from "./words_format.ts";

export interface Entries {
  readonly count: number;
  /** The terms in order; entry n stands for those from `starts[n]` to `starts[n + 1]`. */
  readonly terms: Uint32Array;
  readonly starts: Uint32Array;
  /** Bytes kept of the entry's term, and how many of them the entry before begins with. */
  readonly kept: Uint8Array;
  readonly common: Uint8Array;
  /** `CUT_DIGITS`, `CUT_ANY` or 0: the whole term. */
  readonly cuts: Uint8Array;
}

/** Bytes kept behind those that tell a term from its neighbours. */
const KEPT_BEHIND = 1;
/** Fewer digits than these are not worth a mark and a hash. */
const CUT_MIN = 3;

/** `terms` are those of the table, in order. */
export function entriesOf(table: TermTable, terms: Uint32Array): Entries {
  const starts = scratchInts(terms.length + 1);
  const kept = scratchBytes(terms.length);
  const common = scratchBytes(terms.length);
  const cuts = scratchBytes(terms.length);
  let count = 0;
  let before = 0;
  for (let at = 0; at < terms.length; at += 1) {
    const term = terms[at] as number;
    const after = at + 1 < terms.length ? commonBytes(table, term, terms[at + 1] as number) : 0;
    if (before < TERM_BYTES_MAX) {
      const { bytes, cut } = cutOf(table, term, Math.max(before, after));
      common[count] = count === 0 ? 0 : Math.min(before, bytes, kept[count - 1] as number);
      kept[count] = bytes;
      cuts[count] = cut;
      starts[count] = at;
      count += 1;
    }
    before = after;
  }
  starts[count] = terms.length;
  return { count, terms, starts, kept, common, cuts };
}

/** What is kept of a term that has `shared` bytes in common with a neighbour. */
function cutOf(table: TermTable, term: number, shared: number): { bytes: number; cut: number } {
  const start = table.startOf(term);
  const size = table.endOf(term) - start;
  if (size >= TERM_BYTES_MAX) return { bytes: TERM_BYTES_MAX, cut: CUT_ANY };
  const bytes = shared + KEPT_BEHIND;
  if (size - bytes < CUT_MIN) return { bytes: size, cut: 0 };
  for (let at = start + bytes; at < start + size; at += 1) {
    if (!isHexDigit(table.bytes[at] as number)) return { bytes: size, cut: 0 };
  }
  return { bytes, cut: CUT_DIGITS };
}

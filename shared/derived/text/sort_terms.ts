/** The terms of a table in the order of their bytes, of which the first `TERM_BYTES_MAX` count. */

import { scratchInts } from "./scratch.ts";
import type { TermTable } from "./term_table.ts";

/** Bytes of a term that an index keeps. */
export const TERM_BYTES_MAX = 64;

/** So few are put in order by comparing them. */
const INSERTION_MAX = 24;
/** The end of a term, then 256 bytes. */
const BUCKETS = 257;

/** Terms that are equal in what counts are in any order. */
export function sortTerms(table: TermTable): Uint32Array {
  const terms = scratchInts(table.count);
  for (let term = 0; term < terms.length; term += 1) terms[term] = term;
  new TermSorter(table, terms).sort();
  return terms;
}

/** How many bytes two terms have in common, up to `TERM_BYTES_MAX`. */
export function commonBytes(table: TermTable, a: number, b: number): number {
  const { bytes } = table;
  const [startA, startB] = [table.startOf(a), table.startOf(b)];
  const most = Math.min(table.endOf(a) - startA, table.endOf(b) - startB, TERM_BYTES_MAX);
  let at = 0;
  while (at < most && bytes[startA + at] === bytes[startB + at]) at += 1;
  return at;
}

/** By their first byte into buckets, each bucket by the next byte, and so on. */
class TermSorter {
  readonly #table: TermTable;
  readonly #terms: Uint32Array;
  readonly #moved: Uint32Array;
  /** For each depth: where its buckets end, and where the next term of each goes. */
  readonly #buckets: { readonly ends: Uint32Array; readonly next: Uint32Array }[] = [];

  constructor(table: TermTable, terms: Uint32Array) {
    this.#table = table;
    this.#terms = terms;
    this.#moved = scratchInts(terms.length);
  }

  sort(from = 0, to = this.#terms.length, depth = 0): void {
    if (to - from <= INSERTION_MAX) this.#insert(from, to, depth);
    else if (depth < TERM_BYTES_MAX) this.#split(from, to, depth);
  }

  #split(from: number, to: number, depth: number): void {
    const { ends, next } = this.#buckets[depth] ??= {
      ends: new Uint32Array(BUCKETS),
      next: new Uint32Array(BUCKETS),
    };
    ends.fill(0);
    for (let at = from; at < to; at += 1) {
      const bucket = this.#bucketOf(this.#terms[at] as number, depth);
      ends[bucket] = (ends[bucket] as number) + 1;
    }
    for (let bucket = 0, end = from; bucket < BUCKETS; bucket += 1) {
      next[bucket] = end;
      end += ends[bucket] as number;
      ends[bucket] = end;
    }
    for (let at = from; at < to; at += 1) {
      const term = this.#terms[at] as number;
      const bucket = this.#bucketOf(term, depth);
      const place = next[bucket] as number;
      this.#moved[place] = term;
      next[bucket] = place + 1;
    }
    this.#terms.set(this.#moved.subarray(from, to), from);
    // Bucket 0 has at most one: terms are distinct.
    for (let bucket = 1; bucket < BUCKETS; bucket += 1) {
      const [start, end] = [ends[bucket - 1] as number, ends[bucket] as number];
      if (end - start > 1) this.sort(start, end, depth + 1);
    }
  }

  #bucketOf(term: number, depth: number): number {
    const at = this.#table.startOf(term) + depth;
    return at < this.#table.endOf(term) ? (this.#table.bytes[at] as number) + 1 : 0;
  }

  #insert(from: number, to: number, depth: number): void {
    const terms = this.#terms;
    for (let at = from + 1; at < to; at += 1) {
      const term = terms[at] as number;
      let place = at;
      for (; place > from; place -= 1) {
        const before = terms[place - 1] as number;
        if (!this.#isBefore(term, before, depth)) break;
        terms[place] = before;
      }
      terms[place] = term;
    }
  }

  #isBefore(a: number, b: number, depth: number): boolean {
    const { bytes } = this.#table;
    const [startA, startB] = [this.#table.startOf(a), this.#table.startOf(b)];
    const sizeA = Math.min(this.#table.endOf(a) - startA, TERM_BYTES_MAX);
    const sizeB = Math.min(this.#table.endOf(b) - startB, TERM_BYTES_MAX);
    for (let at = depth; at < sizeA; at += 1) {
      if (at === sizeB) return false;
      const difference = (bytes[startA + at] as number) - (bytes[startB + at] as number);
      if (difference !== 0) return difference < 0;
    }
    return sizeA < sizeB;
  }
}

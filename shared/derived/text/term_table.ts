/**
 * Numbers the distinct terms of a column: open addressing over typed arrays, with the terms' bytes one after the other.
 *
 * A term is written at the end of `bytes` first, then `intern` finds its number: an unknown term stays where it was
 * written, a known one is written over by the next.
 */

import { grown, THINGS_MAX, TooMuchToIndex } from "./occurrences.ts";

const BYTES_MAX = 2 ** 29;

export class TermTable {
  /** Of all terms, then of the one being written, from `length` on. */
  bytes = new Uint8Array(64 * 1024);
  /** Bytes of all terms. */
  length = 0;
  count = 0;
  /** Where in `bytes` each term begins, and where the last one ends. */
  #starts = new Uint32Array(1025);
  #hashes = new Uint32Array(1024);
  /** One more than the number of the term; 0: free. */
  #slots = new Uint32Array(4096);

  /** Makes room for writing `more` bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    if (needed > BYTES_MAX) throw new TooMuchToIndex(`more than ${BYTES_MAX} bytes of terms`);
    const larger = new Uint8Array(Math.max(needed, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  /** The number of the term written from `length` to `end`, whose bytes have this hash. */
  intern(end: number, hash: number): number {
    const { bytes, length: start } = this;
    const size = end - start;
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;; slot = (slot + 1) & mask) {
      const term = (this.#slots[slot] as number) - 1;
      if (term < 0) break;
      if (this.#hashes[term] !== hash >>> 0) continue;
      const known = this.#starts[term] as number;
      if ((this.#starts[term + 1] as number) - known !== size) continue;
      let at = 0;
      while (at < size && bytes[known + at] === bytes[start + at]) at += 1;
      if (at === size) return term;
    }
    return this.#add(slot, { end, hash });
  }

  startOf(term: number): number {
    return this.#starts[term] as number;
  }

  endOf(term: number): number {
    return this.#starts[term + 1] as number;
  }

  #add(slot: number, { end, hash }: { readonly end: number; readonly hash: number }): number {
    const term = this.count;
    if (term >= THINGS_MAX) throw new TooMuchToIndex(`more than ${THINGS_MAX} terms`);
    if (term === this.#hashes.length) {
      this.#hashes = grown(this.#hashes, 2 * term);
      this.#starts = grown(this.#starts, 2 * term + 1);
    }
    this.#hashes[term] = hash;
    this.#starts[term + 1] = end;
    this.#slots[slot] = term + 1;
    this.length = end;
    this.count = term + 1;
    if (3 * this.count > this.#slots.length) this.#rehash();
    return term;
  }

  #rehash(): void {
    const slots = new Uint32Array(4 * this.#slots.length);
    const mask = slots.length - 1;
    for (let term = 0; term < this.count; term += 1) {
      const hash = this.#hashes[term] as number;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = term + 1;
    }
    this.#slots = slots;
  }
}

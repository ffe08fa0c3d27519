/**
 * Numbers the distinct terms of a column: open addressing over typed arrays, with the terms' bytes one after the other.
 *
 * A term is written at the end of `bytes` first, then `intern` finds its number: an unknown term stays where it was
 * written, a known one is written over by the next.
 */

import { PROBES_MAX, THINGS_MAX, TooMuchToIndex } from "./occurrences.ts";
import { grownBytes, grownInts, scratchInts } from "./scratch.ts";

const BYTES_MAX = 2 ** 29;

export class TermTable {
  /** Of all terms, then of the one being written, from `length` on. */
  bytes = new Uint8Array(64 * 1024);
  /** Bytes of all terms. */
  length = 0;
  count = 0;
  /** Of each term its hash, where in `bytes` it begins and where it ends. */
  #terms = new Uint32Array(3 * 1024);
  /** One more than the number of the term; 0: free. */
  #slots = new Uint32Array(4096);

  /** Makes room for writing `more` bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    if (needed > BYTES_MAX) throw new TooMuchToIndex(`more than ${BYTES_MAX} bytes of terms`);
    this.bytes = grownBytes(this.bytes, Math.max(needed, 2 * this.bytes.length));
  }

  /** The number of the term written from `length` to `end`, whose bytes have this hash. */
  intern(end: number, hash: number): number {
    const { bytes, length: start } = this;
    const [terms, slots] = [this.#terms, this.#slots];
    const mask = slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let probes = 0; probes < PROBES_MAX; probes += 1, slot = (slot + 1) & mask) {
      const term = (slots[slot] as number) - 1;
      if (term < 0) return this.#add(slot, end, hash);
      if (((terms[3 * term] as number) | 0) !== hash) continue;
      let known = terms[3 * term + 1] as number;
      if ((terms[3 * term + 2] as number) - known !== end - start) continue;
      let at = start;
      while (at < end && bytes[known] === bytes[at]) {
        at += 1;
        known += 1;
      }
      if (at === end) return term;
    }
    throw new TooMuchToIndex(`${PROBES_MAX} terms of like hashes`);
  }

  startOf(term: number): number {
    return this.#terms[3 * term + 1] as number;
  }

  endOf(term: number): number {
    return this.#terms[3 * term + 2] as number;
  }

  #add(slot: number, end: number, hash: number): number {
    const term = this.count;
    if (term >= THINGS_MAX) throw new TooMuchToIndex(`more than ${THINGS_MAX} terms`);
    if (3 * term === this.#terms.length) this.#terms = grownInts(this.#terms, 6 * term);
    this.#terms[3 * term] = hash;
    this.#terms[3 * term + 1] = this.length;
    this.#terms[3 * term + 2] = end;
    this.#slots[slot] = term + 1;
    this.length = end;
    this.count = term + 1;
    if (3 * this.count > this.#slots.length) this.#rehash();
    return term;
  }

  #rehash(): void {
    const slots = scratchInts(4 * this.#slots.length).fill(0);
    const mask = slots.length - 1;
    for (let term = 0; term < this.count; term += 1) {
      const hash = (this.#terms[3 * term] as number) | 0;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = term + 1;
    }
    this.#slots = slots;
  }
}

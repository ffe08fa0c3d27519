/**
 * Numbers the distinct terms of a column: open addressing over typed arrays, with the terms' bytes
 * one after the other.
 *
 * A term is written at the end of `bytes` first, then `intern` finds its number. An unknown term
 * stays where it was written, a known one is written over by the next.
 */

import { HASH_START, hashByte } from "./hash.ts";
import { PROBES_MAX, THINGS_MAX, TooMuchToIndex } from "./occurrences.ts";
import { giveBackInts, grownBytes, grownInts, scratchInts } from "./scratch.ts";

const BYTES_MAX = 2 ** 29;
const SLOTS_MIN = 4096;
/** Integers of a slot. */
const SLOT = 4;
/**
 * Lines of logs have about one distinct term for so many bytes. Moving terms to larger tables took
 * a fifth of the time of collecting them, by `perf`.
 */
const BYTES_PER_TERM = 128;

export class TermTable {
  /** Bytes of all terms, then of the one being written, from `length` on. */
  bytes = new Uint8Array(64 * 1024);
  /** Bytes of all terms. */
  length = 0;
  count = 0;
  /** Where in `bytes` each term begins and where it ends. */
  spans = new Uint32Array(2 * 1024);
  /**
   * A slot has one more than the number of a term, 0: free; then the term's hash, where it begins
   * in `bytes`, and its length. So comparing with a term takes no look elsewhere.
   */
  #slots: Int32Array<ArrayBuffer>;

  /** For the terms of `textBytes` bytes of text. */
  constructor(textBytes = 0) {
    const slots = 2 ** Math.ceil(Math.log2(2 * textBytes / BYTES_PER_TERM + 1));
    this.#slots = freeSlots(Math.max(SLOTS_MIN, slots));
  }

  /** Makes room for writing `more` bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    if (needed > BYTES_MAX) throw new TooMuchToIndex(`more than ${BYTES_MAX} bytes of terms`);
    this.bytes = grownBytes(this.bytes, Math.max(needed, 2 * this.bytes.length));
  }

  /** The number of the term that stands at `start` to `end` of `values`. */
  numberOf(values: Uint8Array, start: number, end: number): number {
    this.reserve(end - start);
    const { bytes } = this;
    let { length } = this;
    let hash = HASH_START;
    for (let at = start; at < end; at += 1) {
      const byte = values[at] as number;
      bytes[length] = byte;
      length += 1;
      hash = hashByte(hash, byte);
    }
    return this.intern(length, hash);
  }

  /** The number of the term written from `length` to `end`, whose bytes have this hash. */
  intern(end: number, hash: number): number {
    const { bytes, length: start } = this;
    const slots = this.#slots;
    const mask = slots.length / SLOT - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let probes = 0; probes < PROBES_MAX; probes += 1, slot = (slot + 1) & mask) {
      const place = SLOT * slot;
      const term = (slots[place] as number) - 1;
      if (term < 0) return this.#add(place, end, hash);
      if (slots[place + 1] !== hash || slots[place + 3] !== end - start) continue;
      let known = slots[place + 2] as number;
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
    return this.spans[2 * term] as number;
  }

  endOf(term: number): number {
    return this.spans[2 * term + 1] as number;
  }

  #add(place: number, end: number, hash: number): number {
    const term = this.count;
    if (term >= THINGS_MAX) throw new TooMuchToIndex(`more than ${THINGS_MAX} terms`);
    if (2 * term === this.spans.length) this.spans = grownInts(this.spans, 4 * term);
    this.spans[2 * term] = this.length;
    this.spans[2 * term + 1] = end;
    const slots = this.#slots;
    slots[place] = term + 1;
    slots[place + 1] = hash;
    slots[place + 2] = this.length;
    slots[place + 3] = end - this.length;
    this.length = end;
    this.count = term + 1;
    // More than half are full.
    if (2 * SLOT * this.count > slots.length) this.#rehash();
    return term;
  }

  #rehash(): void {
    const old = this.#slots;
    const { length } = old;
    const slots = freeSlots(2 * length / SLOT);
    const mask = slots.length / SLOT - 1;
    for (let at = 0; at < length; at += SLOT) {
      if (old[at] === 0) continue;
      const hash = old[at + 1] as number;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (slots[SLOT * slot] !== 0) slot = (slot + 1) & mask;
      for (let part = 0; part < SLOT; part += 1) {
        slots[SLOT * slot + part] = old[at + part] as number;
      }
    }
    giveBackInts(new Uint32Array(old.buffer));
    this.#slots = slots;
  }
}

function freeSlots(count: number): Int32Array<ArrayBuffer> {
  const length = SLOT * count;
  return new Int32Array(scratchInts(length).buffer, 0, length).fill(0);
}

/**
 * Which traces a frame's rows can be of: a Bloom filter over their ids. It has 12 bits an id, of
 * which five are set, and 72 bits at least. So it takes one id of 200 for one that is there, and of
 * a single id one of 10,000.
 *
 * Ids are random in their second half, by which they are told apart (W3C Trace Context).
 */

import { IntBuffer } from "../columns/int_buffer.ts";

const ID_BYTES = 16;
const BITS_PER_ID = 12;
const BITS_SET = 5;
/** In two bytes, which a single id needs, one of 66 others seems to be there. */
const FILTER_BYTES_MIN = 9;
/** Ids of one frame; with more of them there is no filter. */
const TRACE_IDS_MAX = 16_384;

/** The half of an id by which it is told apart, as two integers of 32 bits. */
export interface TraceWords {
  readonly high: number;
  readonly low: number;
}

/** The words of an id as statements write it; undefined: that is no id. */
export function wordsOfTrace(text: string): TraceWords | undefined {
  if (!/^[\da-f]{32}$/.test(text)) return undefined;
  return { high: parseInt(text.slice(16, 24), 16) | 0, low: parseInt(text.slice(24), 16) | 0 };
}

/** Whether rows of a frame can be of a trace. */
export function mayHoldTrace(filter: Uint8Array, { high, low }: TraceWords): boolean {
  return placesOf(filter, high, low, (at, bit) => ((filter[at] as number) & bit) !== 0);
}

/**
 * The ids of the rows of a request, gathered while these are made. Neighbours are mostly of one
 * trace, so each is compared with the one before.
 */
export class TraceIds {
  readonly #words = new IntBuffer(256);
  #count = 0;
  #isKnown = true;

  /** The next row has the id from `start` to `end`, or none where they are alike. */
  add(view: DataView, start: number, end: number): void {
    if (start === end || !this.#isKnown) return;
    if (end - start !== ID_BYTES) return this.giveUp();
    const high = view.getInt32(start + 8);
    const low = view.getInt32(start + 12);
    const at = 2 * this.#count;
    const { cells: known } = this.#words;
    if (at > 0 && known[at - 2] === high && known[at - 1] === low) return;
    if (this.#count === TRACE_IDS_MAX) return this.giveUp();
    if (at === known.length) this.#words.grow();
    const { cells } = this.#words;
    cells[at] = high;
    cells[at + 1] = low;
    this.#count += 1;
  }

  /** Which trace a row's attributes name is not known. */
  giveUp(): void {
    this.#isKnown = false;
  }

  /** The filter of all rows since the last one; undefined: their ids are not known. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    const filter = this.#isKnown ? this.#filter() : undefined;
    this.clear();
    return filter;
  }

  /** Forgets what an earlier request may have left behind. */
  clear(): void {
    this.#count = 0;
    this.#isKnown = true;
  }

  #filter(): Uint8Array<ArrayBuffer> {
    if (this.#count === 0) return new Uint8Array(0);
    const needed = Math.ceil(BITS_PER_ID * this.#count / 8);
    const filter = new Uint8Array(Math.max(needed, FILTER_BYTES_MIN));
    const { cells } = this.#words;
    for (let at = 0; at < 2 * this.#count; at += 2) {
      placesOf(filter, cells[at] as number, cells[at + 1] as number, (place, bit) => {
        filter[place] = (filter[place] as number) | bit;
        return true;
      });
    }
    return filter;
  }
}

/** Calls `visit` for the bits of an id until it returns false, which is returned. */
function placesOf(
  { byteLength }: Uint8Array,
  high: number,
  low: number,
  visit: (at: number, bit: number) => boolean,
): boolean {
  if (byteLength === 0) return false;
  const step = scrambled(low) | 1;
  let hash = scrambled(high ^ Math.imul(low, 0x9e3779b1));
  for (let count = 0; count < BITS_SET; count += 1) {
    const bit = (hash >>> 0) % (8 * byteLength);
    if (!visit(bit >> 3, 1 << (bit & 7))) return false;
    hash = hash + step | 0;
  }
  return true;
}

function scrambled(word: number): number {
  const hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  return Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
}

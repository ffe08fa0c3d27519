/**
 * Which runs of three bytes occur within the words of each row group: for parts of words.
 *
 * A *map* has one bit for each of 2^k slots, a trigram's slot being the highest k bits of its hash.
 * There is a map for each run of row groups, at most `MAPS_MAX` of them. A word's part of three
 * bytes or more can only be in a row group whose map has all of its trigrams.
 */

import { hashByte, mixed } from "./hash.ts";

export const MAPS_MAX = 32;
const SLOT_BITS_MIN = 10;
const SLOT_BITS_MAX = 16;
/** Slots for each distinct trigram, so that few of those that are not there seem to be. */
const SLOTS_PER_TRIGRAM = 8;

export class TrigramCollector {
  /** Bit m of a slot: map m has it. */
  readonly #slots = new Uint32Array(1 << SLOT_BITS_MAX);

  /** Adds the trigrams of `bytes` from `start` to `end` to the maps whose bits `maps` has. */
  add(bytes: Uint8Array, { start, end, maps }: TrigramRun): void {
    const slots = this.#slots;
    for (let at = start; at + 3 <= end; at += 1) {
      const slot = slotOf(bytes, at, SLOT_BITS_MAX);
      slots[slot] = (slots[slot] as number) | maps;
    }
  }

  /** The maps one after the other, and how many bits a slot's number has. */
  finish(maps: number): { readonly slotBits: number; readonly bytes: Uint8Array<ArrayBuffer> } {
    // Loops, as calls of a function for each of 65,536 slots take longer than a small file's rest.
    const slots = this.#slots;
    let used = 0;
    for (let wide = 0; wide < slots.length; wide += 1) if (slots[wide] !== 0) used += 1;
    const wanted = Math.ceil(Math.log2(Math.max(1, used * SLOTS_PER_TRIGRAM)));
    const slotBits = Math.min(SLOT_BITS_MAX, Math.max(SLOT_BITS_MIN, wanted));
    const bytes = new Uint8Array(maps * mapBytes(slotBits));
    for (let wide = 0; wide < slots.length; wide += 1) {
      const bits = slots[wide] as number;
      if (bits === 0) continue;
      const slot = wide >>> (SLOT_BITS_MAX - slotBits);
      for (let map = 0; map < maps; map += 1) {
        if ((bits >>> map & 1) === 0) continue;
        const at = map * mapBytes(slotBits) + (slot >> 3);
        bytes[at] = (bytes[at] as number) | 1 << (slot & 7);
      }
    }
    return { slotBits, bytes };
  }
}

interface TrigramRun {
  readonly start: number;
  readonly end: number;
  readonly maps: number;
}

/** Whether maps may have 2^`slotBits` bits. */
export function isSlotBits(slotBits: number): boolean {
  return slotBits >= SLOT_BITS_MIN && slotBits <= SLOT_BITS_MAX;
}

/** Bytes of a map of 2^`slotBits` bits. */
export function mapBytes(slotBits: number): number {
  return 1 << (slotBits - 3);
}

/** The maps that have all trigrams of `part`; all, when it is too short to have one. */
export function mapsWith(
  part: Uint8Array,
  { bytes, slotBits }: { readonly bytes: Uint8Array; readonly slotBits: number },
): number[] {
  const found: number[] = [];
  const size = mapBytes(slotBits);
  for (let start = 0; start < bytes.length; start += size) {
    let at = 0;
    for (; at + 3 <= part.length; at += 1) {
      const slot = slotOf(part, at, slotBits);
      if (((bytes[start + (slot >> 3)] as number) >> (slot & 7) & 1) === 0) break;
    }
    if (at + 3 > part.length) found.push(start / size);
  }
  return found;
}

function slotOf(bytes: Uint8Array, at: number, slotBits: number): number {
  let hash = hashByte(0, bytes[at] as number);
  hash = hashByte(hash, bytes[at + 1] as number);
  hash = hashByte(hash, bytes[at + 2] as number);
  return mixed(hash) >>> (32 - slotBits);
}

import { PROBES_MAX, THINGS_MAX, TooMuchToIndex } from "./occurrences.ts";
import { giveBackInts, grownInts, scratchInts } from "./scratch.ts";

/** Numbers distinct hashes: open addressing over typed arrays. */
export class HashTable {
  #count = 0;
  #hashes = new Uint32Array(1024);
  /** One more than the number of the hash; 0: free. */
  #slots = new Uint32Array(4096);

  /** Errors: `TooMuchToIndex`. */
  numberOf(hash: number): number {
    const [hashes, slots, wanted] = [this.#hashes, this.#slots, hash | 0];
    const mask = slots.length - 1;
    let slot = wanted & mask;
    for (let probes = 0; probes < PROBES_MAX; probes += 1, slot = (slot + 1) & mask) {
      const number = (slots[slot] as number) - 1;
      if (number < 0) return this.#add(slot, wanted);
      if (((hashes[number] as number) | 0) === wanted) return number;
    }
    throw new TooMuchToIndex(`${PROBES_MAX} values of like hashes`);
  }

  #add(slot: number, hash: number): number {
    const number = this.#count;
    if (number === this.#hashes.length) this.#hashes = grownInts(this.#hashes, 2 * number);
    this.#hashes[number] = hash;
    this.#slots[slot] = number + 1;
    this.#count += 1;
    if (3 * this.#count > this.#slots.length) this.#rehash();
    return number;
  }

  hashes(): Uint32Array {
    return this.#hashes.subarray(0, this.#count);
  }

  #rehash(): void {
    if (this.#count > THINGS_MAX) throw new TooMuchToIndex(`more than ${THINGS_MAX} values`);
    const slots = scratchInts(4 * this.#slots.length).fill(0);
    const mask = slots.length - 1;
    for (let number = 0; number < this.#count; number += 1) {
      let slot = (this.#hashes[number] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    giveBackInts(this.#slots);
    this.#slots = slots;
  }
}

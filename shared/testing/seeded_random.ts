/** Randomness that repeats: print the seed before the work that uses it. */

import type { Random } from "../os/random.ts";

/** sfc32 (Chris Doty-Humphrey's Small Fast Counting generator, public domain). */
export class SeededRandom implements Random {
  readonly seed: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.seed = seed;
    this.#a = seed | 0;
    this.#b = (seed / 0x1_0000_0000) | 0;
    this.#c = 0x9e37_79b9 | 0;
    for (let round = 0; round < 12; round++) this.#next();
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#next() & 0xff);
  }

  float(): number {
    return this.#next() / 0x1_0000_0000;
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.float() * below);
  }

  chance(probability: number): boolean {
    return this.float() < probability;
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum | 0;
    return sum >>> 0;
  }
}

/** A seed of 32 bits that nobody knows yet. */
export function newSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;
}

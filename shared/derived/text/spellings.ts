/**
 * How a column writes its terms, which are in lower case themselves: `Error` and `ERROR` are
 * *variants* of `error`. Letters beyond ASCII are always taken in lower case.
 *
 * A variant is a number below -1. So what lists terms may list variants among them.
 */

import { grownInts, scratchInts } from "./scratch.ts";
import { TermTable } from "./term_table.ts";
import { mayBeTold, TOLD_BYTES_MAX } from "./told_words.ts";

/** More variants are kept of no column: they are parts of ids. */
const VARIANTS_MAX = 16_384;
/** Places of variants in a column: 64 MiB. */
const PLACES_MAX = 2 ** 23;
const FIRST_VARIANT = -2;

interface WordBytes {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** The variants of a column. */
export class Spellings {
  readonly #table = new TermTable();
  /** By the place of a variant: its term. */
  readonly #terms: number[] = [];
  #areKnown = true;

  /** Whether all variants are known that tell something. */
  get areKnown(): boolean {
    return this.#areKnown;
  }

  /** By the place of a variant: where it is written. */
  get words(): readonly WordBytes[] {
    const table = this.#table;
    return this.#terms.map((_, place): WordBytes => {
      return { bytes: table.bytes, start: table.startOf(place), end: table.endOf(place) };
    });
  }

  /** The term of which `variant` is a spelling. */
  termOf(variant: number): number {
    return this.#terms[FIRST_VARIANT - variant] as number;
  }

  /**
   * The variant of a term that is written as at `start` to `end` of `values`, with a capital; or
   * the term, where nothing is told of it. Errors: `TooMuchToIndex`.
   */
  idOf(term: number, values: Uint8Array, start: number, end: number): number {
    if (!this.#areKnown || !mayBeTold(values, start, end)) return term;
    const table = this.#table;
    const place = table.numberOf(values, start, end);
    if (place === this.#terms.length) {
      this.#terms.push(term);
      this.#areKnown = table.count < VARIANTS_MAX && table.length <= TOLD_BYTES_MAX;
    }
    return FIRST_VARIANT - place;
  }
}

/** Where a list of terms has variants. */
export class VariantList {
  #places = scratchInts(4_096);
  #variants = scratchInts(4_096);
  #length = 0;

  /** Whether it has all of them. */
  get isWhole(): boolean {
    return this.#length < PLACES_MAX;
  }

  /** Places in the list of terms, ascending. */
  get places(): Uint32Array {
    return this.#places.subarray(0, this.#length);
  }

  /** The variant at each: its place among all variants. */
  get variants(): Uint32Array {
    return this.#variants.subarray(0, this.#length);
  }

  /** Adds a variant behind those that are there, if there is room. */
  add(place: number, variant: number): void {
    if (!this.isWhole) return;
    if (this.#length === this.#places.length) {
      this.#places = grownInts(this.#places, 2 * this.#length);
      this.#variants = grownInts(this.#variants, 2 * this.#length);
    }
    this.#places[this.#length] = place;
    this.#variants[this.#length] = FIRST_VARIANT - variant;
    this.#length += 1;
  }

  /** Removes those from a place on. */
  cut(place: number): void {
    if (!this.isWhole) return;
    while (this.#length > 0 && this.#places[this.#length - 1] as number >= place) this.#length -= 1;
  }
}

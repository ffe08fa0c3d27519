/**
 * Numbers of one name that grow from row to row, as line numbers, offsets and counters do. The
 * smallest and the largest of each granule tell where one is, in 16 bytes for thousands of rows:
 * each is another value, and by its hash took three.
 *
 * A name is tried in the first granules of a file, where its values are hashed as all others are.
 * From then on they need not be, until the numbers of a granule do not follow those before.
 */

/** A granule has 2^`RISING_SHIFT` rows: as many as DuckDB reads at a time. */
export const RISING_SHIFT = 11;
/** Such numbers are exact. */
export const RISING_DIGITS_MAX = 15;

/**
 * Granules in which a name is tried, how many numbers each must have, and what share of them must
 * be above the one before.
 */
const TRIAL_GRANULES = 2;
const TRIAL_NUMBERS_MIN = 1_024;
const TRIAL_RISES_MIN = 1 / 2;
/** Names of a file that are tried; of others all values are hashed. */
const NAMES_MAX = 16;

/** Where the numbers of a name are that are not among the hashes, and some that are. */
export interface RisingMember {
  /** What the hashes of its values begin with (`memberNameHash`). */
  readonly name: number;
  /**
   * By granule from the file's first on; of one without such a number the smallest is `Infinity`.
   */
  readonly smallest: Float64Array;
  readonly largest: Float64Array;
}

export class RisingNumbers {
  readonly #members: TriedMember[] = [];
  #granule = 0;
  /** Members mostly come in the same order. */
  #next = 0;

  /** What is taken from now on is in granule `granule`, which is not before the last one. */
  moveTo(granule: number): void {
    this.#granule = granule;
  }

  /** Whether a number of this name need not be hashed. */
  take(name: number, number: number): boolean {
    return this.#memberOf(name)?.take(number, this.#granule) ?? false;
  }

  /** Members of which numbers were not to be hashed. Nothing can be taken afterwards. */
  finish(): RisingMember[] {
    return this.#members.flatMap((member) => member.finish() ?? []);
  }

  #memberOf(name: number): TriedMember | undefined {
    const members = this.#members;
    for (let tries = 0; tries < members.length; tries += 1) {
      const member = members[this.#next] as TriedMember;
      this.#next = this.#next + 1 === members.length ? 0 : this.#next + 1;
      if (member.name === name) return member;
    }
    if (members.length === NAMES_MAX) return undefined;
    const member = new TriedMember(name);
    members.push(member);
    this.#next = 0;
    return member;
  }
}

class TriedMember {
  readonly name: number;
  readonly #ends: { smallest: number[]; largest: number[] } = { smallest: [], largest: [] };
  #isGivenUp = false;
  /** The last two granules with numbers. */
  #before = { smallest: 0, largest: 0 };
  #largestBeforeThat = 0;
  /** The granule that is being filled, and its numbers. */
  #granule = 0;
  #smallest = Infinity;
  #largest = -Infinity;
  #count = 0;
  #rises = 0;
  #last = -1;

  constructor(name: number) {
    this.name = name;
  }

  take(number: number, granule: number): boolean {
    if (granule !== this.#granule) this.#close(granule);
    if (this.#isGivenUp) return false;
    if (number < this.#smallest) this.#smallest = number;
    if (number > this.#largest) this.#largest = number;
    if (number > this.#last) this.#rises += 1;
    this.#last = number;
    this.#count += 1;
    return granule >= TRIAL_GRANULES;
  }

  finish(): RisingMember | undefined {
    this.#close(this.#granule + 1);
    const { smallest, largest } = this.#ends;
    if (smallest.length <= TRIAL_GRANULES) return undefined;
    return {
      name: this.name,
      smallest: Float64Array.from(smallest),
      largest: Float64Array.from(largest),
    };
  }

  /** Ends the granule; `next` is that of the next number. */
  #close(next: number): void {
    if (this.#isGivenUp) return;
    const { smallest, largest } = this.#ends;
    const isTried = this.#granule >= TRIAL_GRANULES || (next === this.#granule + 1 &&
      this.#count >= TRIAL_NUMBERS_MIN && this.#rises >= TRIAL_RISES_MIN * this.#count);
    this.#isGivenUp = !isTried || !this.#follows();
    while (smallest.length < this.#granule) {
      smallest.push(Infinity);
      largest.push(-Infinity);
    }
    smallest.push(this.#smallest);
    largest.push(this.#largest);
    this.#largestBeforeThat = this.#before.largest;
    this.#before = { smallest: this.#smallest, largest: this.#largest };
    this.#granule = next;
    this.#smallest = Infinity;
    this.#largest = -Infinity;
    this.#count = 0;
    this.#rises = 0;
  }

  /** So that a number is in two granules, or three: neighbours may be a little out of order. */
  #follows(): boolean {
    return this.#smallest >= this.#before.smallest && this.#largest >= this.#before.largest &&
      this.#smallest >= this.#largestBeforeThat;
  }
}

/**
 * In which granules each of many things occurs, collected in the order of the granules.
 *
 * A granule is a run of 2^shift rows of a data file, the finest place that an index names. DuckDB
 * reads vectors of 2,048 rows anyway, and places of single rows took nearly three times the bytes
 * on real logs (README.md).
 */

import { giveBackInts, grownInts, scratchInts } from "./scratch.ts";

/**
 * Things to tell apart in one index of a file, and places of all of them: past either there is no
 * index.
 */
export const THINGS_MAX = 2 ** 22;
const PLACES_MAX = 2 ** 25;

/**
 * Slots that are looked at for one thing: far more than it takes unless somebody chose the hashes.
 */
export const PROBES_MAX = 1_024;

/** Thrown while collecting: what there is to index is more than memory should be spent on. */
export class TooMuchToIndex extends Error {
  override readonly name = "TooMuchToIndex";
}

/** Places of thing n: `granules` from `starts[n]` to `starts[n + 1]`, ascending and distinct. */
export interface Places {
  readonly starts: Uint32Array;
  readonly granules: Uint32Array;
}

export class Occurrences {
  #granule = 0;
  /** Per thing: the `mark` it was last seen with. */
  lastSeen = new Uint32Array(1024);
  /** One more than the granule. */
  mark = 1;
  #counts = new Uint32Array(1024);
  /** The things of granule 0, then those of granule 1, … */
  #log = new Uint32Array(4096);
  #logLength = 0;
  /** Where in the log each granule ends. */
  readonly #granuleEnds: number[] = [];

  /** What is added from now on is in granule `granule`, which is not before the last one. */
  moveTo(granule: number): void {
    while (this.#granule < granule) {
      this.#granuleEnds.push(this.#logLength);
      this.#granule += 1;
    }
    this.mark = this.#granule + 1;
  }

  /** Things are numbered from 0, without gaps. */
  add(thing: number): void {
    if (thing >= this.lastSeen.length) this.#growThings(thing);
    if (this.lastSeen[thing] === this.mark) return;
    this.lastSeen[thing] = this.mark;
    this.#counts[thing] = (this.#counts[thing] as number) + 1;
    if (this.#logLength === this.#log.length) this.#growLog();
    this.#log[this.#logLength] = thing;
    this.#logLength += 1;
  }

  /** The places of the first `things`; nothing can be added afterwards. */
  finish(things: number): Places {
    this.moveTo(this.#granule + 1);
    const starts = scratchInts(things + 1);
    starts[0] = 0;
    for (let thing = 0; thing < things; thing += 1) {
      starts[thing + 1] = (starts[thing] as number) + (this.#counts[thing] as number);
    }
    const next = scratchInts(things);
    next.set(starts.subarray(0, things));
    const granules = scratchInts(this.#logLength);
    let at = 0;
    for (const [granule, end] of this.#granuleEnds.entries()) {
      for (; at < end; at += 1) {
        const thing = this.#log[at] as number;
        const place = next[thing] as number;
        granules[place] = granule;
        next[thing] = place + 1;
      }
    }
    // What follows takes as much: it need not come on top.
    for (const array of [next, this.#log, this.#counts, this.lastSeen]) giveBackInts(array);
    return { starts, granules };
  }

  #growThings(thing: number): void {
    if (thing >= THINGS_MAX) throw new TooMuchToIndex(`more than ${THINGS_MAX} things`);
    const length = Math.max(2 * this.lastSeen.length, thing + 1);
    this.lastSeen = grownInts(this.lastSeen, length, 0);
    this.#counts = grownInts(this.#counts, length, 0);
  }

  #growLog(): void {
    if (this.#logLength >= PLACES_MAX) throw new TooMuchToIndex(`more than ${PLACES_MAX} places`);
    this.#log = grownInts(this.#log, 2 * this.#log.length);
  }
}

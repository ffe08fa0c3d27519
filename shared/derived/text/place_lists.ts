/**
 * Lists of granules out of collected places, where wanted in coarser granules than those they were
 * collected in.
 */

import type { GranuleList } from "./granule_list.ts";
import type { Places } from "./occurrences.ts";

export class PlaceLists {
  readonly #places: Places;
  readonly #coarser: number;
  #scratch: Uint32Array;

  /** A granule is 2^`coarser` of those of `places`. */
  constructor(places: Places, coarser: number) {
    this.#places = places;
    this.#coarser = coarser;
    this.#scratch = new Uint32Array(1024);
  }

  /** Where any of `things` from `from` to `to` is. The list holds until the next is asked for. */
  listOf(things: Uint32Array, from: number, to: number): GranuleList {
    let count = 0;
    for (let at = from; at < to; at += 1) count = this.#append(things[at] as number, count);
    if (to - from > 1) count = distinct(this.#scratch.subarray(0, count));
    return { granules: this.#scratch, count };
  }

  /** Whether one thing from `from` to `to` is in a single granule, without looking closer. */
  isSingle(things: Uint32Array, from: number, to: number): boolean {
    const thing = things[from] as number;
    const { starts } = this.#places;
    return to - from === 1 && (starts[thing + 1] as number) - (starts[thing] as number) === 1;
  }

  /** Adds the places of `thing` behind the first `count`; how many there are then. */
  #append(thing: number, count: number): number {
    const { starts, granules } = this.#places;
    const [start, end] = [starts[thing] as number, starts[thing + 1] as number];
    if (count + end - start > this.#scratch.length) this.#grow(count + end - start);
    const scratch = this.#scratch;
    let next = count;
    let last = -1;
    for (let at = start; at < end; at += 1) {
      const granule = (granules[at] as number) >>> this.#coarser;
      if (granule === last) continue;
      last = granule;
      scratch[next] = granule;
      next += 1;
    }
    return next;
  }

  #grow(needed: number): void {
    const larger = new Uint32Array(2 * needed);
    larger.set(this.#scratch);
    this.#scratch = larger;
  }
}

/** Sorts in place; how many distinct ones there are, which come first. */
function distinct(granules: Uint32Array): number {
  granules.sort();
  let count = 0;
  for (const [at, granule] of granules.entries()) {
    if (at > 0 && granule === granules[count - 1]) continue;
    granules[count] = granule;
    count += 1;
  }
  return count;
}

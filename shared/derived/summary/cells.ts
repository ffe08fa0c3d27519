/**
 * Counts of rows by key, added up over files: sorted arrays, so that adding is a merge and a range
 * of keys a slice.
 *
 * A key is two whole numbers in one: `a` (a minute or an id) and `b` (an id below `IDS_MAX`).
 */

import { lowerBound } from "../../base/lower_bound.ts";

export interface Cells {
  /** Ascending, each once. */
  readonly keys: Float64Array;
  /** Never 0. */
  readonly counts: Float64Array;
}

/** Ids a table's column can have; minutes of the years 1 to 9999 times this are below 2^53. */
export const IDS_MAX = 2 ** 20;

export const NO_CELLS: Cells = { keys: new Float64Array(0), counts: new Float64Array(0) };

/** One number for a cell (`a`, `b`), so that cells sort by it. */
export function cellKey(a: number, b: number): number {
  return a * IDS_MAX + b;
}

/** The cell of a number that `cellKey` gave. */
export function partsOfKey(key: number): { readonly a: number; readonly b: number } {
  const a = Math.floor(key / IDS_MAX);
  return { a, b: key - a * IDS_MAX };
}

/** Cells of keys in any order, which may repeat; counts of 0 are left out. */
export function cellsOf(keys: ArrayLike<number>, counts: ArrayLike<number>): Cells {
  const order = Array.from({ length: keys.length }, (_, at) => at)
    .filter((at) => counts[at] !== 0)
    .sort((one, other) => (keys[one] as number) - (keys[other] as number));
  const sum = new CellWriter(order.length);
  for (const at of order) sum.add(keys[at] as number, counts[at] as number);
  return sum.cells();
}

/**
 * The sum of all `parts`: neighbours first, so that no part is copied more often than there are
 * doublings.
 */
export function sumOfCells(parts: readonly Cells[]): Cells {
  let level = parts.filter(({ keys }) => keys.length > 0);
  while (level.length > 1) {
    const next: Cells[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const [one, other] = [level[at] as Cells, level[at + 1]];
      next.push(other === undefined ? one : combined(one, other, 1));
    }
    level = next;
  }
  return level[0] ?? NO_CELLS;
}

/** `all` less `part`; undefined when `part` is not in it. */
export function differenceOfCells(all: Cells, part: Cells): Cells | undefined {
  const rest = combined(all, part, -1);
  for (const count of rest.counts) if (count < 0) return undefined;
  return rest;
}

/** The cells whose keys are in [from, end). */
export function cellsBetween({ keys, counts }: Cells, from: number, end: number): Cells {
  const [first, last] = [lowerBound(keys, from), lowerBound(keys, end)];
  return { keys: keys.subarray(first, last), counts: counts.subarray(first, last) };
}

function combined(one: Cells, other: Cells, sign: 1 | -1): Cells {
  const sum = new CellWriter(one.keys.length + other.keys.length);
  let [i, j] = [0, 0];
  while (i < one.keys.length || j < other.keys.length) {
    const key = one.keys[i] ?? Infinity;
    const otherKey = other.keys[j] ?? Infinity;
    if (key <= otherKey) sum.add(key, one.counts[i++] as number);
    else sum.add(otherKey, sign * (other.counts[j++] as number));
  }
  return sum.cells();
}

/** Takes keys in ascending order; equal ones are added up. */
class CellWriter {
  readonly #keys: Float64Array;
  readonly #counts: Float64Array;
  #length = 0;

  constructor(max: number) {
    this.#keys = new Float64Array(max);
    this.#counts = new Float64Array(max);
  }

  add(key: number, count: number): void {
    const last = this.#length - 1;
    if (last >= 0 && this.#keys[last] === key) {
      this.#counts[last] = (this.#counts[last] as number) + count;
      return;
    }
    // What has become 0 meanwhile gives its place away.
    if (last >= 0 && this.#counts[last] === 0) this.#length = last;
    this.#keys[this.#length] = key;
    this.#counts[this.#length] = count;
    this.#length += 1;
  }

  cells(): Cells {
    const last = this.#length - 1;
    if (last >= 0 && this.#counts[last] === 0) this.#length = last;
    return {
      keys: this.#keys.slice(0, this.#length),
      counts: this.#counts.slice(0, this.#length),
    };
  }
}

/** Sets of bytes of one file, as sorted ranges that neither meet nor overlap. Pure. */

import { firstNotBelow } from "../../../base/lower_bound.ts";

/** Bytes [start, end). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A set of bytes that grows. */
export class RangeSet {
  /** Ranges in order; between two neighbours lies at least one byte. */
  readonly #ranges: ByteRange[] = [];
  #bytes = 0;

  /** How many bytes are in the set. */
  get bytes(): number {
    return this.#bytes;
  }

  get ranges(): readonly ByteRange[] {
    return this.#ranges;
  }

  /** Adds a range. Returns how many of its bytes are new. */
  add(range: ByteRange): number {
    if (range.end <= range.start) return 0;
    const first = this.#firstEndingFrom(range.start);
    let { start, end } = range;
    let held = 0;
    let count = 0;
    for (let at = first; at < this.#ranges.length; at += 1, count += 1) {
      const own = this.#ranges[at];
      if (own === undefined || own.start > range.end) break;
      start = Math.min(start, own.start);
      end = Math.max(end, own.end);
      held += own.end - own.start;
    }
    this.#ranges.splice(first, count, { start, end });
    const added = end - start - held;
    this.#bytes += added;
    return added;
  }

  /** The parts of `range` that are not in the set. */
  missing(range: ByteRange): ByteRange[] {
    const missing: ByteRange[] = [];
    let { start } = range;
    for (let at = this.#firstEndingFrom(start); at < this.#ranges.length; at += 1) {
      const own = this.#ranges[at];
      if (own === undefined || own.start >= range.end) break;
      if (own.start > start) missing.push({ start, end: own.start });
      start = Math.max(start, own.end);
    }
    if (start < range.end) missing.push({ start, end: range.end });
    return missing;
  }

  holds(range: ByteRange): boolean {
    return this.missing(range).length === 0;
  }

  clear(): void {
    this.#ranges.length = 0;
    this.#bytes = 0;
  }

  /** Place of the first range that ends at or after `offset`. */
  #firstEndingFrom(offset: number): number {
    const ranges = this.#ranges;
    return firstNotBelow(ranges.length, (at) => (ranges[at]?.end ?? 0) < offset);
  }
}

/** How many bytes ranges have that do not overlap. */
export function rangeBytes(ranges: readonly ByteRange[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

/**
 * Joins two neighbours, with whatever lies between them, where `mayJoin` says so. The result is
 * sorted.
 */
export function joined(
  ranges: readonly ByteRange[],
  mayJoin: (left: ByteRange, right: ByteRange) => boolean,
): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last !== undefined && (range.start <= last.end || mayJoin(last, range))) {
      joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
    } else joined.push(range);
  }
  return joined;
}

/** `range` in pieces of at most `bytesMax`. */
export function pieces(range: ByteRange, bytesMax: number): ByteRange[] {
  const count = Math.ceil((range.end - range.start) / bytesMax);
  return Array.from({ length: count }, (_, at) => {
    const start = range.start + at * bytesMax;
    return { start, end: Math.min(range.end, start + bytesMax) };
  });
}

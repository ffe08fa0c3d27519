/**
 * The smallest and largest values of pages and chunks. Where there is a NaN there are no bounds:
 * Parquet allows none that is NaN, but DuckDB and Spark sort it after all numbers. So they would
 * leave its row out. A zero is -0 below and +0 above, as Parquet has it. Long strings are cut on
 * the safe side.
 */

import { textOf, utf8, viewOf } from "../../base/bytes.ts";
import {
  bytesAt,
  type ChunkValues,
  doublesOfValues,
  halvesOfValues,
  intsOfValues,
} from "./chunk_values.ts";

/** Positions of values. */
export interface Extremes {
  readonly smallest: number;
  readonly largest: number;
}

export interface Bounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** Bytes of a string that are kept; one more where the last letter's successor is longer. */
const STRING_BYTES_MAX = 64;
const SURROGATES_FIRST = 0xd800;
const SURROGATES_END = 0xe000;
const CODE_POINT_MAX = 0x10ffff;

/** Less than 0 where value `a` is smaller than value `b`. */
type Order = (a: number, b: number) => number;

export class ValueOrder {
  readonly #values: ChunkValues;
  readonly #order: Order;
  #halves: Int32Array | undefined;

  constructor(values: ChunkValues) {
    this.#values = values;
    this.#order = orderOf(values);
  }

  /** The extremes of values `from` to `to`; undefined where there is none. */
  extremesBetween(from: number, to: number): Extremes | undefined {
    const { type } = this.#values;
    if (from < to && type === "string") return extremeTexts(this.#values, from, to);
    if (from < to && (type === "timestamptz" || type === "long")) {
      return extremeHalves(this.#halves ??= halvesOfValues(this.#values), from, to);
    }
    return this.extremesOf(to - from, (index) => from + index);
  }

  /** The extremes of the values that `at` gives; undefined where there is none. */
  extremesOf(count: number, at: (index: number) => number): Extremes | undefined {
    const order = this.#order;
    let smallest = -1;
    let largest = -1;
    for (let index = 0; index < count; index += 1) {
      const value = at(index);
      if (smallest < 0) smallest = largest = value;
      else if (order(value, smallest) < 0) smallest = value;
      else if (order(value, largest) > 0) largest = value;
    }
    return smallest < 0 ? undefined : { smallest, largest };
  }

  compare(a: number, b: number): number {
    return this.#order(a, b);
  }

  /** The extremes of several runs of values by those of each run. */
  extremesOfAll(parts: readonly (Extremes | undefined)[]): Extremes | undefined {
    const found = parts.flatMap((part) => part === undefined ? [] : [part.smallest, part.largest]);
    return this.extremesOf(found.length, (index) => found[index] as number);
  }

  /**
   * Undefined where nothing is as large as the largest and as short as a bound may be, and where
   * the largest is NaN.
   */
  boundsOf({ smallest, largest }: Extremes): Bounds | undefined {
    const values = this.#values;
    const [min, max] = [bytesAt(values, smallest), bytesAt(values, largest)];
    // Copies: the values' memory is used again.
    if (values.type === "string") {
      const upper = upperBound(max);
      return upper && { min: lowerBound(min).slice(), max: upper.slice() };
    }
    if (values.type !== "double") return { min: min.slice(), max: max.slice() };
    if (Number.isNaN(viewOf(max).getFloat64(0, true))) return undefined;
    return { min: withZero(min, -0), max: withZero(max, 0) };
  }
}

function orderOf(values: ChunkValues): Order {
  switch (values.type) {
    case "timestamptz":
    case "long": {
      const halves = halvesOfValues(values);
      return (a, b) => compareHalves(halves, a, b);
    }
    case "int": {
      const ints = intsOfValues(values);
      return (a, b) => (ints[a] as number) - (ints[b] as number);
    }
    case "double": {
      const doubles = doublesOfValues(values);
      return (a, b) => compareDoubles(doubles[a] as number, doubles[b] as number);
    }
    case "bool":
      return (a, b) => (values.bytes[a] as number) - (values.bytes[b] as number);
    case "string":
      return stringOrder(values);
  }
}

/** NaN is larger than all others. */
function compareDoubles(a: number, b: number): number {
  const difference = a - b;
  return Number.isNaN(difference) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : difference;
}

function stringOrder(values: ChunkValues): Order {
  const view = viewOf(values.bytes);
  const offsets = values.offsets as Int32Array;
  return (a, b) => compareTexts(view, offsets, a, b);
}

/** UTF-8 bytes sort as their code points do. Four bytes at a time: texts of logs begin alike. */
function compareTexts(view: DataView, offsets: Int32Array, a: number, b: number): number {
  let at = offsets[a] as number;
  let other = offsets[b] as number;
  const end = offsets[a + 1] as number;
  const otherEnd = offsets[b + 1] as number;
  const wholeEnd = at + Math.min(end - at, otherEnd - other) - 4;
  for (; at <= wholeEnd; at += 4, other += 4) {
    if (view.getInt32(at) === view.getInt32(other)) continue;
    return view.getUint32(at) - view.getUint32(other);
  }
  for (; at < end && other < otherEnd; at += 1, other += 1) {
    const difference = view.getUint8(at) - view.getUint8(other);
    if (difference !== 0) return difference;
  }
  return (end - at) - (otherEnd - other);
}

/** At least one text. A loop of its own, like that of numbers: each row is compared twice. */
function extremeTexts(values: ChunkValues, from: number, to: number): Extremes {
  const view = viewOf(values.bytes);
  const offsets = values.offsets as Int32Array;
  let smallest = from;
  let largest = from;
  for (let value = from + 1; value < to; value += 1) {
    if (compareTexts(view, offsets, value, largest) > 0) largest = value;
    else if (compareTexts(view, offsets, value, smallest) < 0) smallest = value;
  }
  return { smallest, largest };
}

/** The extremes of 64-bit integers as pairs of halves. */
function extremeHalves(halves: Int32Array, from: number, to: number): Extremes {
  let smallest = from;
  let largest = from;
  for (let value = from + 1; value < to; value += 1) {
    if (compareHalves(halves, value, largest) > 0) largest = value;
    else if (compareHalves(halves, value, smallest) < 0) smallest = value;
  }
  return { smallest, largest };
}

function compareHalves(halves: Int32Array, a: number, b: number): number {
  return (halves[2 * a + 1] as number) - (halves[2 * b + 1] as number) ||
    ((halves[2 * a] as number) >>> 0) - ((halves[2 * b] as number) >>> 0);
}

function lowerBound(text: Uint8Array): Uint8Array {
  return text.subarray(0, endOfWhole(text));
}

/**
 * The last code point that has a next one is replaced by it, which makes up for what is cut off.
 */
function upperBound(text: Uint8Array): Uint8Array | undefined {
  const end = endOfWhole(text);
  if (end === text.byteLength) return text;
  const letters = [...textOf(text.subarray(0, end))];
  for (let last = letters.pop(); last !== undefined; last = letters.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1;
    if (next > CODE_POINT_MAX) continue;
    const code = next === SURROGATES_FIRST ? SURROGATES_END : next;
    return utf8(letters.join("") + String.fromCodePoint(code));
  }
  return undefined;
}

/** Where the last code point ends that is whole within the bytes that are kept. */
function endOfWhole(text: Uint8Array): number {
  if (text.byteLength <= STRING_BYTES_MAX) return text.byteLength;
  let end = STRING_BYTES_MAX;
  while (((text[end] as number) & 0xc0) === 0x80) end -= 1;
  return end;
}

function withZero(bytes: Uint8Array, zero: number): Uint8Array {
  const view = viewOf(bytes);
  return view.getFloat64(0, true) === 0
    ? new Uint8Array(Float64Array.of(zero).buffer)
    : bytes.slice();
}

/**
 * The granules of those terms of a block that are in a single one, in the order of the terms:
 * `coding: u8 | bits`, to a full byte.
 *
 * The neighbours of a number that is counted up, or of a time, were mostly written near it. The
 * distances of their granules take one or two bits where a granule takes ten. The writer takes what
 * is shorter.
 */

import { OperatingError } from "../../base/errors.ts";
import type { ByteBuilder } from "../../columns/byte_builder.ts";
import { BitReader, BitWriter, gammaBits } from "./bits.ts";
import { granuleBits } from "./words_format.ts";

/** All of as many bits as tell the granules apart. */
const SAME_BITS = 0;
/** Gamma codes of the distances of each from the one before. */
const DISTANCES = 1;

/** Writes the granules of a block's terms, for a file of `total` granules. */
export function writeSingles(
  target: ByteBuilder,
  granules: readonly number[],
  total: number,
): void {
  const width = granuleBits(total);
  const codes = granules.map((granule, at) => codeOf(granule - (granules[at - 1] ?? 0)));
  const bits = codes.reduce((sum, code) => sum + gammaBits(code), 0);
  const coding = bits < width * granules.length ? DISTANCES : SAME_BITS;
  target.byte(coding);
  const writer = new BitWriter(target);
  if (coding === DISTANCES) { for (const code of codes) writer.gamma(code); }
  else for (const granule of granules) writer.write(granule, width);
  writer.end();
}

/** The bytes that hold them. */
export interface SinglesPlace {
  readonly start: number;
  readonly end: number;
  /** How many of the block's terms are in a single granule; they keep their order. */
  readonly count: number;
  readonly total: number;
  /** Whether they begin with their coding; without one all have the same bits. */
  readonly hasCoding: boolean;
}

/** The first `count`. Errors: `corrupt`. */
export function readSingles(
  bytes: Uint8Array,
  { start, end, count, total, hasCoding }: SinglesPlace,
): Uint32Array {
  const coding = hasCoding ? bytes[start] : SAME_BITS;
  const reader = new BitReader(bytes, hasCoding ? start + 1 : start, end);
  if (coding !== SAME_BITS && coding !== DISTANCES) throw impossible();
  const granules = new Uint32Array(count);
  const width = granuleBits(total);
  let before = 0;
  for (let at = 0; at < count; at += 1) {
    if (coding === DISTANCES) before += distanceOf(reader.gamma());
    else before = reader.read(width);
    if (before < 0 || before >= total) throw impossible();
    granules[at] = before;
  }
  return granules;
}

/** 1, 2, 3, … for 0, -1, 1, … */
function codeOf(distance: number): number {
  return distance < 0 ? -2 * distance : 2 * distance + 1;
}

function distanceOf(code: number): number {
  return code % 2 === 0 ? -code / 2 : (code - 1) / 2;
}

function impossible(): OperatingError {
  return new OperatingError("corrupt", "Cannot read an index: its single granules are impossible");
}

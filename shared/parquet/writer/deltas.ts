/**
 * Parquet's DELTA_BINARY_PACKED: the first value, then the distances of each value from the one
 * before, less the smallest of a block. Each distance takes as many bits as the largest of a part
 * of the block, or more.
 */

import type { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint, writeZigzag } from "../../columns/varint.ts";
import type { Int64Halves } from "../../columns/timestamps.ts";
import { bitsOf, fillTo, packBits } from "./pack_bits.ts";

/** How distances are packed. */
export interface DeltaLayout {
  /** Distances of a block, a multiple of 128, and its parts, each of a multiple of 32. */
  readonly block: number;
  readonly parts: number;
  /** Widths are multiples of so many bits. */
  readonly unit: number;
  /** What all distances of a page are less by: its smallest, or each block's own. */
  readonly isLessByPage: boolean;
}

/** The fewest bits: for distances that have nothing in common. */
export const TIGHT: DeltaLayout = { block: 128, parts: 4, unit: 1, isLessByPage: false };
/**
 * Equal distances have equal bytes wherever they are: for distances that repeat, which are then
 * compressed.
 */
export const WHOLE_BYTES: DeltaLayout = { block: 1024, parts: 1, unit: 8, isLessByPage: true };

/** The difference of two distances is below 2^53, so that all are exact. */
const DISTANCE_MAX = 2 ** 51;

/** Values of a page. */
interface Page {
  readonly from: number;
  readonly to: number;
  readonly layout: DeltaLayout;
}

/**
 * Whether each of these 64-bit integers is so near to the one before that `writeWideDeltas` can
 * write them.
 */
export function areNear(halves: Int64Halves): boolean {
  for (let at = 2; at < halves.length; at += 2) {
    if (Math.abs(distanceAt(halves, at)) > DISTANCE_MAX) return false;
  }
  return true;
}

/** 64-bit integers, which are near. */
export function writeWideDeltas(
  target: ByteBuilder,
  halves: Int64Halves,
  { from, to, layout }: Page,
): void {
  writeHead(target, to - from, layout);
  if (from === to) return target.byte(0);
  const high = BigInt(halves[2 * from + 1] as number);
  const first = high << 32n | BigInt((halves[2 * from] as number) >>> 0);
  let folded = BigInt.asUintN(64, first << 1n ^ first >> 63n);
  for (; folded >= 0x80n; folded >>= 7n) target.byte(Number(folded & 0x7fn) | 0x80);
  target.byte(Number(folded));
  const distances = new Float64Array(to - from - 1);
  for (let at = 0; at < distances.length; at += 1) {
    distances[at] = distanceAt(halves, 2 * (from + at + 1));
  }
  writeDistances(target, distances, layout);
}

/** 32-bit integers. */
export function writeDeltas(
  target: ByteBuilder,
  values: Int32Array,
  { from, to, layout }: Page,
): void {
  writeHead(target, to - from, layout);
  if (from === to) return target.byte(0);
  writeZigzag(target, values[from] as number);
  const distances = new Float64Array(to - from - 1);
  for (let at = 0; at < distances.length; at += 1) {
    distances[at] = (values[from + at + 1] as number) - (values[from + at] as number);
  }
  writeDistances(target, distances, layout);
}

/** The distance of the 64-bit integer whose halves are at `at` from the one before. */
function distanceAt(halves: Int64Halves, at: number): number {
  return ((halves[at + 1] as number) - (halves[at - 1] as number)) * 0x1_0000_0000 +
    ((halves[at] as number) >>> 0) - ((halves[at - 2] as number) >>> 0);
}

function writeHead(target: ByteBuilder, count: number, { block, parts }: DeltaLayout): void {
  writeVarint(target, block);
  writeVarint(target, parts);
  writeVarint(target, count);
}

/** `distances` are overwritten. */
function writeDistances(target: ByteBuilder, distances: Float64Array, layout: DeltaLayout): void {
  const { block, isLessByPage } = layout;
  const ofPage = isLessByPage ? lessen(distances, 0, distances.length) : undefined;
  for (let from = 0; from < distances.length; from += block) {
    const to = Math.min(from + block, distances.length);
    writeZigzag(target, ofPage ?? lessen(distances, from, to));
    writeBlock(target, distances, { from, to, layout });
  }
}

/** The smallest of them, by which they all become less. */
function lessen(distances: Float64Array, from: number, to: number): number {
  let smallest = Infinity;
  for (let at = from; at < to; at += 1) smallest = Math.min(smallest, distances[at] as number);
  for (let at = from; at < to; at += 1) distances[at] = (distances[at] as number) - smallest;
  return smallest;
}

/** A part that ends behind the last distance is filled up with zeros; there is none behind that. */
function writeBlock(
  target: ByteBuilder,
  distances: Float64Array,
  { from, to, layout }: Page,
): void {
  const { block, parts, unit } = layout;
  const widthsAt = target.length;
  for (let part = 0; part < parts; part += 1) target.byte(0);
  for (let part = 0, start = from; start < to; part += 1, start += block / parts) {
    const end = Math.min(start + block / parts, to);
    let largest = 0;
    for (let at = start; at < end; at += 1) largest = Math.max(largest, distances[at] as number);
    const width = Math.ceil(bitsOf(largest) / unit) * unit;
    target.bytes[widthsAt + part] = width;
    const partEnd = target.length + width * (block / parts) / 8;
    packBits(target, distances, { from: start, to: end, width });
    fillTo(target, partEnd);
  }
}

/**
 * Parquet's DELTA_BINARY_PACKED: the first value, then the distances of each from the one before, less the smallest of a block,
 * in as many bits as the largest of a part of the block takes.
 */

import type { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import type { Int64Halves } from "../../columns/timestamps.ts";
import { bitsOf, packBits } from "./pack_bits.ts";
import { writeZigzag } from "./thrift_writer.ts";

const BLOCK = 128;
const PARTS = 4;
const PART = BLOCK / PARTS;
/** The difference of two distances is below 2^53, so that all are exact. */
const DISTANCE_MAX = 2 ** 51;

/** Whether each of these 64-bit integers is so near to the one before that `writeWideDeltas` can write them. */
export function areNear(halves: Int64Halves): boolean {
  for (let at = 2; at < halves.length; at += 2) {
    if (Math.abs(distanceAt(halves, at)) > DISTANCE_MAX) return false;
  }
  return true;
}

/** Values `from` to `to`, which are near. */
export function writeWideDeltas(
  target: ByteBuilder,
  halves: Int64Halves,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  writeHead(target, to - from);
  if (from === to) return target.byte(0);
  const high = BigInt(halves[2 * from + 1] as number);
  const first = high << 32n | BigInt((halves[2 * from] as number) >>> 0);
  let folded = BigInt.asUintN(64, first << 1n ^ first >> 63n);
  for (; folded >= 0x80n; folded >>= 7n) target.byte(Number(folded & 0x7fn) | 0x80);
  target.byte(Number(folded));
  const block = new Float64Array(BLOCK);
  for (let at = from + 1; at < to; at += BLOCK) {
    const count = Math.min(BLOCK, to - at);
    for (let i = 0; i < count; i += 1) block[i] = distanceAt(halves, 2 * (at + i));
    writeBlock(target, block, count);
  }
}

/** Values `from` to `to` of 32-bit integers. */
export function writeDeltas(
  target: ByteBuilder,
  values: Int32Array,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  writeHead(target, to - from);
  if (from === to) return target.byte(0);
  writeZigzag(target, values[from] as number);
  const block = new Float64Array(BLOCK);
  for (let at = from + 1; at < to; at += BLOCK) {
    const count = Math.min(BLOCK, to - at);
    for (let i = 0; i < count; i += 1) {
      block[i] = (values[at + i] as number) - (values[at + i - 1] as number);
    }
    writeBlock(target, block, count);
  }
}

/** Of the 64-bit integer whose halves are at `at` from the one before. */
function distanceAt(halves: Int64Halves, at: number): number {
  return ((halves[at + 1] as number) - (halves[at - 1] as number)) * 0x1_0000_0000 +
    ((halves[at] as number) >>> 0) - ((halves[at - 2] as number) >>> 0);
}

function writeHead(target: ByteBuilder, count: number): void {
  writeVarint(target, BLOCK);
  writeVarint(target, PARTS);
  writeVarint(target, count);
}

/** The first `count` of `block`, which is overwritten. */
function writeBlock(target: ByteBuilder, block: Float64Array, count: number): void {
  let smallest = Infinity;
  for (let i = 0; i < count; i += 1) smallest = Math.min(smallest, block[i] as number);
  writeZigzag(target, smallest);
  const widthsAt = target.length;
  for (let part = 0; part < PARTS; part += 1) target.byte(0);
  block.fill(smallest, count);
  for (let from = 0; from < count; from += PART) {
    let largest = 0;
    for (let i = from; i < from + PART; i += 1) {
      const value = (block[i] as number) - smallest;
      block[i] = value;
      largest = Math.max(largest, value);
    }
    const width = bitsOf(largest);
    target.bytes[widthsAt + from / PART] = width;
    packBits(target, block, { from, to: from + PART, width });
  }
}

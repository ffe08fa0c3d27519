/**
 * Parquet's hybrid of runs and packed bits: a run of equal values is the value and how often, what
 * is between runs is packed.
 */

import type { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import { fillTo, packBits } from "./pack_bits.ts";

/** Packed values come in groups of so many; shorter runs are packed with their neighbours. */
const GROUP = 8;

/** Values `from` to `to`, each of `width` bits, at least 1 and at most 32. */
export function writeRuns(
  target: ByteBuilder,
  values: Uint8Array | Int32Array,
  { from, to, width }: { readonly from: number; readonly to: number; readonly width: number },
): void {
  let packedFrom = from;
  for (let at = from; at < to;) {
    const value = values[at] as number;
    let end = at + 1;
    while (end < to && values[end] === value) end += 1;
    // What is packed before the run is filled up from it.
    const start = packedFrom + Math.ceil((at - packedFrom) / GROUP) * GROUP;
    if (end - start >= GROUP) {
      writePacked(target, values, { from: packedFrom, to: start, width });
      writeRun(target, { value, count: end - start, width });
      packedFrom = end;
    }
    at = end;
  }
  writePacked(target, values, { from: packedFrom, to, width });
}

/** `count` times the same value. */
export function writeRun(
  target: ByteBuilder,
  { value, count, width }: {
    readonly value: number;
    readonly count: number;
    readonly width: number;
  },
): void {
  writeVarint(target, 2 * count);
  for (let bits = 0; bits < width; bits += 8) target.byte(value >>> bits & 0xff);
}

function writePacked(
  target: ByteBuilder,
  values: Uint8Array | Int32Array,
  place: { readonly from: number; readonly to: number; readonly width: number },
): void {
  const count = place.to - place.from;
  if (count === 0) return;
  const groups = Math.ceil(count / GROUP);
  writeVarint(target, 2 * groups + 1);
  const end = target.length + groups * place.width;
  packBits(target, values, place);
  fillTo(target, end);
}

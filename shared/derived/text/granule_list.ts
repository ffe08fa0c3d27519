/**
 * An ascending list of granules as bytes: `mode: u8 | count: varint | bits`.
 *
 * Modes 0 to 24 are Rice codes of the distances less one, with so many low bits. Mode 31 has Elias
 * gamma codes of runs: how many granules are left out, and how many follow one another. Words of
 * logs come in bursts, so runs halved the bytes of what Rice codes alone took. The writer takes the
 * shorter one.
 */

import { OperatingError } from "../../base/errors.ts";
import type { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import { BitReader, BitWriter, ByteReader, gammaBits, WIDTH_MAX } from "./bits.ts";

const RUNS = 31;

/** `granules` up to `count`: ascending and distinct, at least one. */
export interface GranuleList {
  readonly granules: Uint32Array;
  readonly count: number;
}

interface Coding {
  readonly mode: number;
  readonly bits: number;
}

/** How many bytes `writeList` takes. */
export function listBytes(list: GranuleList): number {
  const lengthBytes = Math.ceil((32 - Math.clz32(list.count)) / 7);
  return 1 + lengthBytes + Math.ceil(shortest(list).bits / 8);
}

/** Appends the list in the mode that takes the fewest bits. */
export function writeList(target: ByteBuilder, list: GranuleList): void {
  const { mode } = shortest(list);
  target.byte(mode);
  writeVarint(target, list.count);
  const writer = new BitWriter(target);
  if (mode === RUNS) writeRuns(writer, list);
  else writeRice(writer, list, mode);
  writer.end();
}

/** The list in bytes `start` to `end`, all below `total`. Errors: `corrupt`. */
export function readList(
  bytes: Uint8Array,
  { start, end, total }: { readonly start: number; readonly end: number; readonly total: number },
): Uint32Array {
  const head = new ByteReader(bytes, start, end);
  const mode = head.byte();
  const count = head.varint();
  if (count === 0 || count > total || (mode !== RUNS && mode > WIDTH_MAX)) throw corrupt();
  const reader = new BitReader(bytes, head.at, end);
  const granules = new Uint32Array(count);
  if (mode === RUNS) readRuns(reader, granules, total);
  else readRice(reader, granules, mode);
  if ((granules[count - 1] as number) >= total) throw corrupt();
  return granules;
}

function shortest(list: GranuleList): Coding {
  const rice = riceCoding(list);
  const runs = runsBits(list);
  return runs < rice.bits ? { mode: RUNS, bits: runs } : rice;
}

function riceCoding({ granules, count }: GranuleList): Coding {
  const span = (granules[count - 1] as number) + 1;
  const mode = Math.max(0, Math.min(WIDTH_MAX, Math.floor(Math.log2(0.69 * span / count))));
  let bits = count * (mode + 1);
  let before = -1;
  for (let at = 0; at < count; at += 1) {
    const granule = granules[at] as number;
    bits += (granule - before - 1) >>> mode;
    before = granule;
  }
  return { mode, bits };
}

function writeRice(writer: BitWriter, { granules, count }: GranuleList, mode: number): void {
  let before = -1;
  for (let at = 0; at < count; at += 1) {
    const granule = granules[at] as number;
    const distance = granule - before - 1;
    writer.unary(distance >>> mode);
    writer.write(distance & ((1 << mode) - 1), mode);
    before = granule;
  }
}

function readRice(reader: BitReader, granules: Uint32Array, mode: number): void {
  let before = -1;
  for (let at = 0; at < granules.length; at += 1) {
    before += 1 + (reader.unary() * 2 ** mode + reader.read(mode));
    granules[at] = before;
  }
}

function runsBits({ granules, count }: GranuleList): number {
  let bits = 0;
  let before = -1;
  for (let at = 0; at < count;) {
    const first = granules[at] as number;
    const end = endOfRun({ granules, count }, at);
    bits += gammaBits(first - before) + gammaBits(end - at);
    before = (granules[end - 1] as number) + 1;
    at = end;
  }
  return bits;
}

function writeRuns(writer: BitWriter, { granules, count }: GranuleList): void {
  let before = -1;
  for (let at = 0; at < count;) {
    const end = endOfRun({ granules, count }, at);
    writer.gamma((granules[at] as number) - before);
    writer.gamma(end - at);
    before = (granules[end - 1] as number) + 1;
    at = end;
  }
}

function readRuns(reader: BitReader, granules: Uint32Array, total: number): void {
  let next = -1;
  for (let at = 0; at < granules.length;) {
    next += reader.gamma();
    const end = at + reader.gamma();
    if (end > granules.length || next + end - at > total) throw corrupt();
    for (; at < end; at += 1, next += 1) granules[at] = next;
  }
}

/** Where the run of granules that begins at `at` ends. */
function endOfRun({ granules, count }: GranuleList, at: number): number {
  const first = granules[at] as number;
  let end = at + 1;
  while (end < count && granules[end] === first + end - at) end += 1;
  return end;
}

function corrupt(): OperatingError {
  return new OperatingError("corrupt", "Cannot read an index: a list of granules is impossible");
}

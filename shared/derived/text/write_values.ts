/** Writes the value index of the string columns of one data file: README.md has the bytes. */

import { concatBytes } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import { BitWriter } from "./bits.ts";
import { withChecksum } from "./block_writer.ts";
import type { ColumnValues } from "./collect_values.ts";
import { type GranuleList, listBytes, writeList } from "./granule_list.ts";
import { type Places, THINGS_MAX, TooMuchToIndex } from "./occurrences.ts";
import { PlaceLists } from "./place_lists.ts";
import { scratchInts } from "./scratch.ts";
import { sortedByKey } from "./sort_keys.ts";
import { HAS_UNKNOWN, hashKeyOf, isCommon, KEY_EXTRA_BITS, keyBitsOf } from "./values_format.ts";
import { EVERYWHERE, granuleBits, granulesOf, SHIFT_MAX, SHIFT_STEP } from "./words_format.ts";
import type { RisingMember } from "./rising_numbers.ts";
import type { IndexBytes, IndexedRows } from "./write_words.ts";

/** A block is closed when its keys or its lists have so many bytes. */
const BLOCK_BYTES = 512;

/** Errors: `TooMuchToIndex`. */
export function writeValues(columns: readonly ColumnValues[], file: IndexedRows): IndexBytes {
  const keys = keysOf(columns);
  const places = joined(columns);
  const shift = shiftFor(keys, { places, file });
  const total = granulesOf(file.rows, shift);
  const lists = new PlaceLists(places, shift - file.shift);
  const writer = new ValueBlockWriter(total);
  const unlisted = unlistedOf(columns);
  for (let at = 0; at < keys.things.length;) {
    const end = endOfKey(keys, at);
    const isListed = unlisted[keys.things[at] as number] === 0 || end - at > 1;
    writer.add(keys.keys[at] as number, lists.listOf(keys.things, at, end), isListed);
    at = end;
  }
  writer.close();
  const header = headerOf({ columns, blocks: writer.blocks, keyBits: keys.bits, shift }, file);
  return {
    bytes: concatBytes([header, ...writer.blocks.map(({ bytes }) => bytes)]),
    headerBytes: header.byteLength,
  };
}

/** Keys in ascending order, and the thing of each: hashes numbered through the columns. */
interface Keys {
  readonly bits: number;
  readonly keys: Uint32Array;
  readonly things: Uint32Array;
}

function keysOf(columns: readonly ColumnValues[]): Keys {
  const count = columns.reduce((sum, { hashes }) => sum + hashes.length, 0);
  if (count > THINGS_MAX) throw new TooMuchToIndex(`${count} values`);
  const bits = keyBitsOf(count);
  const keys = scratchInts(count);
  let thing = 0;
  for (const { hashes } of columns) {
    for (let at = 0; at < hashes.length; at += 1, thing += 1) {
      keys[thing] = hashKeyOf(hashes[at] as number, bits);
    }
  }
  return { bits, ...sortedByKey(keys, bits) };
}

/** A 1 for each thing whose places are not listed, by the number of the thing among all columns. */
function unlistedOf(columns: readonly ColumnValues[]): Uint8Array {
  const all = new Uint8Array(columns.reduce((sum, { hashes }) => sum + hashes.length, 0));
  let start = 0;
  for (const { hashes, unlisted } of columns) {
    if (unlisted !== undefined) all.set(unlisted, start);
    start += hashes.length;
  }
  return all;
}

function endOfKey({ keys }: Keys, at: number): number {
  let end = at + 1;
  while (end < keys.length && keys[end] === keys[at]) end += 1;
  return end;
}

/** The places of all columns' hashes, numbered through. */
function joined(columns: readonly ColumnValues[]): Places {
  const things = columns.reduce((sum, { hashes }) => sum + hashes.length, 0);
  const length = columns.reduce((sum, { places }) => sum + places.granules.length, 0);
  const starts = scratchInts(things + 1);
  const granules = scratchInts(length);
  let thing = 0;
  let base = 0;
  for (const { hashes, places } of columns) {
    for (let at = 0; at < hashes.length; at += 1, thing += 1) {
      starts[thing] = base + (places.starts[at] as number);
    }
    granules.set(places.granules, base);
    base += places.granules.length;
  }
  starts[things] = length;
  return { starts, granules };
}

/** The finest granules with which the index is as small as wanted, by an estimate. */
function shiftFor(
  keys: Keys,
  { places, file }: { readonly places: Places; readonly file: IndexedRows },
): number {
  // A key's distance has its extra bits and some two more, and a bit tells whether it is in one
  // granule.
  const keyBytes = keys.things.length * (KEY_EXTRA_BITS + 3) / 8;
  let { shift } = file;
  for (; shift < SHIFT_MAX; shift += SHIFT_STEP) {
    const total = granulesOf(file.rows, shift);
    const lists = new PlaceLists(places, shift - file.shift);
    const singleBytes = granuleBits(total) / 8;
    let bytes = keyBytes;
    for (let at = 0; at < keys.things.length && bytes <= file.bytesWanted; at += 1) {
      if (lists.isSingle(keys.things, at, at + 1)) {
        bytes += singleBytes;
        continue;
      }
      const list = lists.listOf(keys.things, at, at + 1);
      if (list.count === 1) bytes += singleBytes;
      else bytes += isCommon(list.count, total) ? 1 : 1 + listBytes(list);
    }
    if (bytes <= file.bytesWanted) break;
  }
  return shift;
}

interface ValueBlock {
  readonly firstKey: number;
  readonly bytes: Uint8Array;
}

class ValueBlockWriter {
  readonly blocks: ValueBlock[] = [];
  readonly #total: number;
  readonly #keys = new ByteBuilder();
  #keyBits = new BitWriter(this.#keys);
  readonly #lengths = new ByteBuilder();
  readonly #lists = new ByteBuilder();
  #singles: number[] = [];
  #firstKey = 0;
  #lastKey = 0;
  #count = 0;

  /** `total` granules. */
  constructor(total: number) {
    this.#total = total;
  }

  /**
   * Keys come in ascending order. A list that is not wanted tells all granules, but for a single
   * one.
   */
  add(key: number, list: GranuleList, isListed = true): void {
    if (this.#count === 0) this.#firstKey = this.#lastKey = key;
    const distance = key - this.#lastKey;
    this.#keyBits.unary(distance >>> KEY_EXTRA_BITS);
    this.#keyBits.write(distance & ((1 << KEY_EXTRA_BITS) - 1), KEY_EXTRA_BITS);
    this.#keyBits.write(list.count === 1 ? 1 : 0, 1);
    this.#lastKey = key;
    this.#count += 1;
    this.#addList(list, isListed);
    const most = Math.max(this.#keys.length, this.#lengths.length + this.#lists.length);
    if (most >= BLOCK_BYTES) this.close();
  }

  /** Ends the last block. */
  close(): void {
    if (this.#count === 0) return;
    this.#keyBits.end();
    const bytes = new ByteBuilder();
    writeVarint(bytes, this.#count);
    bytes.append(this.#keys.take());
    const singles = new BitWriter(bytes);
    const width = granuleBits(this.#total);
    for (const granule of this.#singles) singles.write(granule, width);
    singles.end();
    bytes.append(this.#lengths.take());
    bytes.append(this.#lists.take());
    this.blocks.push({ firstKey: this.#firstKey, bytes: withChecksum(bytes.take()) });
    this.#keyBits = new BitWriter(this.#keys);
    this.#singles = [];
    this.#count = 0;
  }

  #addList(list: GranuleList, isListed: boolean): void {
    if (list.count === 1) {
      this.#singles.push(list.granules[0] as number);
    } else if (!isListed || isCommon(list.count, this.#total)) {
      writeVarint(this.#lengths, EVERYWHERE);
    } else {
      const before = this.#lists.length;
      writeList(this.#lists, list);
      writeVarint(this.#lengths, this.#lists.length - before);
    }
  }
}

interface HeaderParts {
  readonly columns: readonly ColumnValues[];
  readonly blocks: readonly ValueBlock[];
  readonly keyBits: number;
  readonly shift: number;
}

function headerOf(
  { columns, blocks, keyBits, shift }: HeaderParts,
  { rows, rowGroupRows }: IndexedRows,
): Uint8Array<ArrayBuffer> {
  const header = new ByteBuilder();
  header.byte(shift);
  header.byte(keyBits);
  writeVarint(header, rows);
  writeVarint(header, rowGroupRows);
  writeVarint(header, columns.length);
  for (const { id, kind, hasUnknown } of columns) {
    writeVarint(header, id);
    header.byte(kind | (hasUnknown ? HAS_UNKNOWN : 0));
  }
  writeVarint(header, blocks.length);
  let before = 0;
  for (const { firstKey, bytes } of blocks) {
    writeVarint(header, firstKey - before);
    writeVarint(header, bytes.byteLength);
    before = firstKey;
  }
  writeRising(header, columns);
  return withChecksum(header.take());
}

/** Nothing, where there are none: such a header is one of version 1. */
function writeRising(header: ByteBuilder, columns: readonly ColumnValues[]): void {
  const all: (RisingMember & { readonly id: number })[] = columns.flatMap(({ id, rising = [] }) =>
    rising.map((member) => ({ id, ...member }))
  );
  if (all.length === 0) return;
  writeVarint(header, all.length);
  for (const { id, name, smallest, largest } of all) {
    writeVarint(header, id);
    header.reserve(Uint32Array.BYTES_PER_ELEMENT);
    header.view.setUint32(header.length, name, true);
    header.length += Uint32Array.BYTES_PER_ELEMENT;
    writeVarint(header, smallest.length);
    for (const numbers of [smallest, largest]) {
      header.reserve(numbers.byteLength);
      for (const number of numbers) {
        header.view.setFloat64(header.length, number, true);
        header.length += Float64Array.BYTES_PER_ELEMENT;
      }
    }
  }
}

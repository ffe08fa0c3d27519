/**
 * Reads the value index of one data file. What is kept in memory is its header; a lookup reads one
 * block of half a kilobyte, or some kilobytes of older indexes.
 */

import { viewOf } from "../../base/bytes.ts";
import { OperatingError } from "../../base/errors.ts";
import { soon, type SoonSteps } from "../../base/steps.ts";
import { BitReader, ByteReader } from "./bits.ts";
import { findKey } from "./find_key.ts";
import { readList } from "./granule_list.ts";
import {
  COLUMN_OBJECTS,
  HAS_UNKNOWN,
  hashKeyOf,
  KEY_BITS_MAX,
  KEY_EXTRA_BITS,
} from "./values_format.ts";
import { RISING_SHIFT, type RisingMember } from "./rising_numbers.ts";
import { checkSum, type Granules } from "./word_block.ts";
import { EVERYWHERE, granuleBits, granulesOf, SHIFT_MAX } from "./words_format.ts";
import type { ReadPart } from "./words_index.ts";

export interface IndexedColumn {
  /** What it holds: one of `COLUMN_…`. */
  readonly kind: number;
  /** There are rows of which nothing is known. */
  readonly hasUnknown: boolean;
}

/** A member, by its column and the hash of its name. */
export interface RisingName {
  readonly column: number;
  readonly name: number;
}

interface ColumnMember extends RisingMember {
  readonly column: number;
}

const NO_GRANULES = new Uint32Array(0);
/** Answers that are kept of an index, and the granules of the longest; they take a kilobyte. */
const OFTEN_MAX = 8;
const OFTEN_GRANULES_MAX = 8;

export class ValuesIndex {
  readonly rows: number;
  readonly rowGroupRows: number;
  /** A granule has 2^`shift` rows. */
  readonly shift: number;
  /** By the columns' ids. */
  readonly columns: ReadonlyMap<number, IndexedColumn>;
  /** Bytes of memory that it takes. */
  readonly byteLength: number;
  readonly #often = new Map<number, Granules>();
  readonly #rising: readonly ColumnMember[];
  readonly #total: number;
  readonly #keyBits: number;
  readonly #firstKeys: Uint32Array;
  /** Where the blocks end within the blob. */
  readonly #blockEnds: Uint32Array;
  readonly #headerBytes: number;

  /** From the header's bytes. Errors: `corrupt`. */
  constructor(header: Uint8Array) {
    checkSum(header, "the header of a value index");
    const reader = new ByteReader(header, 4);
    this.shift = reader.byte();
    this.#keyBits = reader.byte();
    this.rows = reader.varint();
    this.rowGroupRows = reader.varint();
    if (this.shift > SHIFT_MAX || this.rowGroupRows === 0) throw impossible();
    if (this.#keyBits < KEY_EXTRA_BITS || this.#keyBits > KEY_BITS_MAX) throw impossible();
    this.#total = granulesOf(this.rows, this.shift);
    const columns = new Map<number, IndexedColumn>();
    for (let left = reader.varint(); left > 0; left -= 1) {
      const id = reader.varint();
      const flags = reader.byte();
      const kind = flags & ~HAS_UNKNOWN;
      if (kind > COLUMN_OBJECTS) throw impossible();
      columns.set(id, { kind, hasUnknown: (flags & HAS_UNKNOWN) !== 0 });
    }
    this.columns = columns;
    const blocks = reader.varint();
    if (blocks > header.length) throw impossible();
    this.#firstKeys = new Uint32Array(blocks);
    this.#blockEnds = new Uint32Array(blocks);
    this.#headerBytes = header.length;
    let key = 0;
    let end = header.length;
    for (let block = 0; block < blocks; block += 1) {
      key += reader.varint();
      end += reader.varint();
      this.#firstKeys[block] = key;
      this.#blockEnds[block] = end;
    }
    this.#rising = risingOf(reader, { end: header.length, rows: this.rows });
    const risingBytes = this.#rising.reduce((sum, { smallest }) => sum + 16 * smallest.length, 0);
    this.byteLength = 1_280 + 64 * columns.size + 8 * blocks + risingBytes;
  }

  /**
   * Where a number may be that has no hash, being of a member whose numbers rise: granules of
   * 2^`RISING_SHIFT` rows. `name` is of the member (`memberNameHash`), in the column with the id
   * `column`.
   */
  findRising(number: number, { column, name }: RisingName): Uint32Array {
    const found: number[] = [];
    const member = this.#rising.find((one) => one.column === column && one.name === name);
    const { smallest = [], largest = [] } = member ?? {};
    for (let granule = 0; granule < smallest.length; granule += 1) {
      const [from, to] = [smallest[granule] as number, largest[granule] as number];
      if (from <= number && number <= to) found.push(granule);
    }
    return Uint32Array.from(found);
  }

  /** Finds like `find`. The hash is asked for often, so an answer of few granules is kept. */
  *findOften(hash: number, read: ReadPart): SoonSteps<Granules> {
    const known = this.#often.get(hash);
    if (known !== undefined) return known;
    const found = yield* this.find(hash, read);
    if (found === "everywhere" || found.length <= OFTEN_GRANULES_MAX) {
      if (this.#often.size === OFTEN_MAX) this.#often.clear();
      this.#often.set(hash, found);
    }
    return found;
  }

  /** Where values of this hash may be. Errors: `corrupt`; `read`'s. */
  *find(hash: number, read: ReadPart): SoonSteps<Granules> {
    const key = hashKeyOf(hash, this.#keyBits);
    const block = this.#blockOf(key);
    if (block < 0) return NO_GRANULES;
    const start = block === 0 ? this.#headerBytes : this.#blockEnds[block - 1] as number;
    const bytes = yield* soon(read(start, (this.#blockEnds[block] as number) - start));
    checkSum(bytes, "a block of values");
    return findInBlock(bytes, {
      distance: key - (this.#firstKeys[block] as number),
      total: this.#total,
    });
  }

  /** The last block that does not begin behind `key`; -1: there is none. */
  #blockOf(key: number): number {
    let low = 0;
    let high = this.#firstKeys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#firstKeys[middle] as number) <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** What is behind the blocks in a header of version 2. Errors: `corrupt`. */
function risingOf(
  reader: ByteReader,
  { end, rows }: { readonly end: number; readonly rows: number },
): ColumnMember[] {
  if (reader.at === end) return [];
  const members = Array.from({ length: reader.varint() }, () => {
    const column = reader.varint();
    const name = viewOf(reader.take(Int32Array.BYTES_PER_ELEMENT)).getInt32(0, true);
    const granules = reader.varint();
    if (granules > granulesOf(rows, RISING_SHIFT)) throw impossible();
    const [smallest, largest] = [doublesOf(reader, granules), doublesOf(reader, granules)];
    return { column, name, smallest, largest };
  });
  if (reader.at !== end) throw impossible();
  return members;
}

function doublesOf(reader: ByteReader, count: number): Float64Array {
  const bytes = viewOf(reader.take(count * Float64Array.BYTES_PER_ELEMENT));
  return Float64Array.from(
    { length: count },
    (_, at) => bytes.getFloat64(at * Float64Array.BYTES_PER_ELEMENT, true),
  );
}

interface Sought {
  /** From the block's first key. */
  readonly distance: number;
  readonly total: number;
}

function findInBlock(bytes: Uint8Array, { distance, total }: Sought): Granules {
  const head = new ByteReader(bytes, 4);
  const count = head.varint();
  const found = findKey(bytes, { start: head.at, count, distance });
  if (found === undefined) return NO_GRANULES;
  const { isSingle, before, singles, end } = found;
  const width = granuleBits(total);
  if (isSingle) {
    const bit = before * width;
    const reader = new BitReader(bytes, end + (bit >> 3));
    reader.read(bit & 7);
    const granule = reader.read(width);
    if (granule >= total) throw impossible();
    return Uint32Array.of(granule);
  }
  const lengthsStart = end + Math.ceil(singles * width / 8);
  return listAt(bytes, { lengthsStart, lists: count - singles, wanted: before, total });
}

interface ListPlace {
  readonly lengthsStart: number;
  readonly lists: number;
  readonly wanted: number;
  readonly total: number;
}

function listAt(bytes: Uint8Array, { lengthsStart, lists, wanted, total }: ListPlace): Granules {
  const lengths = new ByteReader(bytes, lengthsStart);
  let offset = 0;
  let start = 0;
  let length = 0;
  for (let at = 0; at < lists; at += 1) {
    const one = lengths.varint();
    if (at === wanted) [start, length] = [offset, one];
    offset += one;
  }
  if (length === EVERYWHERE) return "everywhere";
  if (lengths.at + offset !== bytes.length) throw impossible();
  start += lengths.at;
  return readList(bytes, { start, end: start + length, total });
}

function impossible(): OperatingError {
  return new OperatingError("corrupt", "Cannot read an index: its header or block is impossible");
}

/** One block of a word index, as a reader sees it. */

import { present } from "../../base/assert.ts";
import { crc32, textOf } from "../../base/bytes.ts";
import { OperatingError } from "../../base/errors.ts";
import { inflateRaw } from "../../base/inflate_raw.ts";
import { ByteReader } from "./bits.ts";
import { readList } from "./granule_list.ts";
import { hashBytes, mixed } from "./hash.ts";
import { readSingles } from "./single_granules.ts";
import { TERM_BYTES_MAX } from "./sort_terms.ts";
import { CUT_ANY, CUT_DIGITS, EVERYWHERE, isHexDigit, NIBBLE_MAX, SINGLE } from "./words_format.ts";

/** Where a term may be: granules, ascending; or all. */
export type Granules = Uint32Array | "everywhere";

const CHECKSUM_BYTES = 4;
/** Far more than a writer puts into the compressed part. */
const HEAD_BYTES_MAX = 256 * 1024;

/** What is looked for among the entries: terms that are `text`, or that begin with it. */
export interface WantedTerm {
  readonly text: Uint8Array;
  readonly isPrefix: boolean;
  /** Whether such a term counts; one that is cut always does. Default: each does. */
  readonly accepts?: (term: string) => boolean;
}

/** The index that a block is of. */
export interface IndexOfBlock {
  /** Granules. */
  readonly total: number;
  /** Whether single granules begin with their coding. */
  readonly hasCoding: boolean;
  /** Whether sizes and hashes of texts stand apart from their bytes. */
  readonly isApart: boolean;
}

/** To be asked before another is made: memory of one is used again for the next. */
export class WordBlock {
  readonly #entries: number;
  /** Lengths of the lists, then the texts: their sizes, where these stand apart, and bytes. */
  readonly #head: Uint8Array;
  readonly #sizesStart: number;
  readonly #textsStart: number;
  /** The hashes of texts that are cut, where they stand apart. */
  readonly #hashes: Uint8Array | undefined;
  readonly #bytes: Uint8Array;
  readonly #bodyStart: number;
  readonly #index: IndexOfBlock;

  /** Errors: `corrupt`. */
  constructor(bytes: Uint8Array, index: IndexOfBlock) {
    checkSum(bytes, "a block of words");
    const reader = new ByteReader(bytes, CHECKSUM_BYTES);
    this.#entries = reader.varint();
    const plainLength = reader.varint();
    const sizesLength = index.isApart ? reader.varint() : 0;
    const packed = reader.take(reader.varint());
    if (plainLength > HEAD_BYTES_MAX || this.#entries > plainLength) throw impossible();
    this.#head = unpacked(packed, plainLength);
    this.#sizesStart = this.#skipLengths();
    this.#textsStart = this.#sizesStart + sizesLength;
    if (this.#textsStart > plainLength) throw impossible();
    this.#hashes = index.isApart ? reader.take(reader.varint()) : undefined;
    this.#bytes = bytes;
    this.#bodyStart = reader.at;
    this.#index = index;
  }

  /** The granules of each entry that may be what is wanted; `isLast`: no later block has any. */
  find(wanted: WantedTerm): { readonly found: Granules[]; readonly isLast: boolean } {
    const { entries, isLast } = this.#entriesOf(wanted);
    return { found: this.#listsOf(entries), isLast };
  }

  #entriesOf({ text, isPrefix, accepts }: WantedTerm): { entries: number[]; isLast: boolean } {
    const texts = new ByteReader(this.#head, this.#textsStart);
    const apart = this.#hashes && new ByteReader(this.#head, this.#sizesStart, this.#textsStart);
    const sizes = apart ?? texts;
    const hashes = this.#hashes === undefined ? texts : new ByteReader(this.#hashes);
    const entries: number[] = [];
    // The entry's text, where it is needed whole.
    const entry = accepts === undefined ? undefined : new Uint8Array(TERM_BYTES_MAX + 1);
    const size = Math.min(text.length, TERM_BYTES_MAX);
    // How much of it `text` begins with.
    let same = 0;
    for (let at = 0; at < this.#entries; at += 1) {
      const both = sizes.byte();
      const shared = both % 16 < NIBBLE_MAX ? both % 16 : NIBBLE_MAX + sizes.varint();
      const own = both >> 4 < NIBBLE_MAX ? both >> 4 : NIBBLE_MAX + sizes.varint();
      const start = texts.skip(own);
      let length = shared + own;
      if (length > TERM_BYTES_MAX + 1) throw impossible();
      entry?.set(this.#head.subarray(start, texts.at), shared);
      const last = own === 0 ? 0 : this.#head[texts.at - 1] as number;
      const cut = last === CUT_DIGITS || last === CUT_ANY ? last : 0;
      const hash = cut === CUT_DIGITS ? hashes.byte() : 0;
      if (cut !== 0) length -= 1;
      // An entry that shares more than `same` is before `text` where the one before it is.
      if (same < shared && same < size) continue;
      same = Math.min(same, shared);
      const skipped = start - shared;
      while (same < length && same < size && this.#head[skipped + same] === text[same]) same += 1;
      if (same === size) {
        if (isPrefix) {
          const counts = accepts === undefined || cut !== 0 || entry === undefined ||
            accepts(textOf(entry.subarray(0, length)));
          if (counts) entries.push(at);
        } else if (length === size && cut !== CUT_DIGITS) entries.push(at);
        else if (length > size) return { entries, isLast: true };
      } else if (same === length) {
        if (mayGoOn({ cut, hash, length }, { text, isPrefix })) entries.push(at);
      } else if ((this.#head[skipped + same] as number) > (text[same] as number)) {
        return { entries, isLast: true };
      }
    }
    return { entries, isLast: false };
  }

  #listsOf(entries: readonly number[]): Granules[] {
    const lists: Granules[] = [];
    const [last] = entries.slice(-1);
    if (last === undefined) return lists;
    const { total, hasCoding } = this.#index;
    const singles: { readonly place: number; readonly index: number }[] = [];
    const ranges: { readonly place: number; readonly start: number; readonly end: number }[] = [];
    const reader = new ByteReader(this.#head, 0, this.#sizesStart);
    let single = 0;
    let offset = 0;
    let next = 0;
    for (let at = 0; at < this.#entries; at += 1) {
      const length = reader.varint();
      if (at === entries[next]) {
        if (length === EVERYWHERE) lists[next] = "everywhere";
        else if (length === SINGLE) singles.push({ place: next, index: single });
        else ranges.push({ place: next, start: offset, end: offset + length });
        next += 1;
      }
      if (length === SINGLE) single += 1;
      else offset += length;
    }
    const listsStart = this.#bytes.length - offset;
    if (listsStart < this.#bodyStart) throw impossible();
    if (singles.length > 0) {
      const count = present(singles.at(-1)).index + 1;
      const where = { start: this.#bodyStart, end: listsStart, count, total, hasCoding };
      const granules = readSingles(this.#bytes, where);
      for (const { place, index } of singles) lists[place] = granules.slice(index, index + 1);
    }
    for (const { place, start, end } of ranges) {
      const range = { start: listsStart + start, end: listsStart + end, total };
      lists[place] = readList(this.#bytes, range);
    }
    return lists;
  }

  #skipLengths(): number {
    const reader = new ByteReader(this.#head);
    for (let at = 0; at < this.#entries; at += 1) reader.varint();
    return reader.at;
  }
}

/**
 * Whether a term may be, or begin with, `text`, of which an entry keeps the first `length` bytes.
 */
function mayGoOn(
  { cut, hash, length }: { readonly cut: number; readonly hash: number; readonly length: number },
  { text, isPrefix }: WantedTerm,
): boolean {
  if (cut === CUT_ANY) return true;
  if (cut !== CUT_DIGITS) return false;
  for (let at = length; at < text.length; at += 1) {
    if (!isHexDigit(text[at] as number)) return false;
  }
  return isPrefix || (mixed(hashBytes(text)) & 0xff) === hash;
}

/**
 * Throws unless `bytes` begin with the checksum of what follows. Errors: `corrupt`, naming `what`.
 */
export function checkSum(bytes: Uint8Array, what: string): void {
  if (bytes.length >= CHECKSUM_BYTES) {
    const [a = 0, b = 0, c = 0, d = 0] = bytes;
    const stored = (a | b << 8 | c << 16 | d << 24) >>> 0;
    if (stored === crc32(bytes.subarray(CHECKSUM_BYTES))) return;
  }
  throw new OperatingError("corrupt", `Cannot read an index: ${what} fails its checksum`);
}

/** What `packed` was compressed from, which had `length` bytes. Errors: `corrupt`. */
export function inflated(packed: Uint8Array, length: number): Uint8Array {
  return unpacked(packed, length).slice();
}

/** Does what `inflated` does, in memory that the next call uses again. */
function unpacked(packed: Uint8Array, length: number): Uint8Array {
  try {
    return inflateRaw(packed, length);
  } catch {
    throw impossible();
  }
}

function impossible(): OperatingError {
  return new OperatingError("corrupt", "Cannot read an index: a block of words is impossible");
}

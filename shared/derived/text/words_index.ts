/**
 * Reads the word index of one text column of one data file. What is kept in memory is its header; a
 * lookup reads one block of some kilobytes.
 */

import { OperatingError } from "../../base/errors.ts";
import { type Soon, soon, type SoonSteps } from "../../base/steps.ts";
import { ByteReader } from "./bits.ts";
import { readList } from "./granule_list.ts";
import { TERM_BYTES_MAX } from "./sort_terms.ts";
import { isSlotBits, mapBytes, MAPS_MAX, mapsWith } from "./trigrams.ts";
import {
  checkSum,
  type Granules,
  type IndexOfBlock,
  inflated,
  type WantedTerm,
  WordBlock,
} from "./word_block.ts";
import {
  DISPUTED_ALL,
  DISPUTED_LIST,
  DISPUTED_NONE,
  granulesOf,
  SHIFT_MAX,
  UNCODED_WORDS_TYPE,
  WORDS_TYPE,
} from "./words_format.ts";

/** Bytes of the index's blob from `offset` on. */
export type ReadPart = (offset: number, length: number) => Soon<Uint8Array>;

/** A run of rows. */
export interface RowRun {
  readonly start: number;
  readonly end: number;
}

/**
 * Blocks that one prefix may read; with more of them it would be the prefix of some ten thousand
 * terms.
 */
const PREFIX_BLOCKS_MAX = 32;

export class WordsIndex {
  readonly rows: number;
  readonly rowGroupRows: number;
  /** A granule has 2^`shift` rows. */
  readonly shift: number;
  /** Where rows may be that match what their words do not. */
  readonly disputed: Granules;
  /** Bytes of memory that it takes. */
  readonly byteLength: number;
  readonly #blocksOf: IndexOfBlock;
  /** What the blocks begin with, one text after the other. */
  readonly #firsts: Uint8Array;
  readonly #firstEnds: Uint32Array;
  /** Where the blocks end within the blob. */
  readonly #blockEnds: Uint32Array;
  readonly #headerBytes: number;
  readonly #slotBits: number;
  readonly #rowGroupsPerMap: number;
  readonly #trigramBytes: number;

  /** From the header's bytes, of a blob of this type. Errors: `corrupt`. */
  constructor(header: Uint8Array, type: string) {
    checkSum(header, "the header of a word index");
    const reader = new ByteReader(header, 4);
    this.shift = reader.byte();
    this.#slotBits = reader.byte();
    this.rows = reader.varint();
    this.rowGroupRows = reader.varint();
    this.#rowGroupsPerMap = reader.varint();
    this.#trigramBytes = reader.varint();
    const isPossible = this.shift <= SHIFT_MAX && isSlotBits(this.#slotBits) &&
      this.rowGroupRows > 0 && this.#rowGroupsPerMap > 0 && this.#maps() <= MAPS_MAX;
    if (!isPossible) throw impossible();
    const total = granulesOf(this.rows, this.shift);
    const hasCoding = type !== UNCODED_WORDS_TYPE;
    this.#blocksOf = { total, hasCoding, isApart: type === WORDS_TYPE };
    this.disputed = readDisputed(reader, total);
    const blocks = reader.varint();
    if (blocks > header.length) throw impossible();
    this.#firstEnds = new Uint32Array(blocks);
    this.#blockEnds = new Uint32Array(blocks);
    this.#firsts = new Uint8Array(header.length - reader.at);
    this.#headerBytes = header.length;
    this.#readBlockList(reader);
    this.byteLength = 256 + this.#firsts.byteLength + 8 * blocks +
      (this.disputed === "everywhere" ? 0 : this.disputed.byteLength);
  }

  /**
   * The granules of each term that may be what is wanted; undefined: too many to tell. Errors:
   * `corrupt`; `read`'s.
   */
  *find(wanted: WantedTerm, read: ReadPart): SoonSteps<Granules[] | undefined> {
    const all: Granules[] = [];
    const first = this.#blockOf(wanted.text);
    for (let block = first; block < this.#blockEnds.length; block += 1) {
      if (block - first === PREFIX_BLOCKS_MAX) return undefined;
      const start = this.#blockStart(block);
      const length = (this.#blockEnds[block] as number) - start;
      const bytes = yield* soon(read(start, length));
      const { found, isLast } = new WordBlock(bytes, this.#blocksOf).find(wanted);
      all.push(...found);
      if (isLast || !wanted.isPrefix) break;
    }
    return all;
  }

  /** The rows that may have `part` within a word. Errors: `corrupt`; `read`'s. */
  *findPart(part: Uint8Array, read: ReadPart): SoonSteps<RowRun[]> {
    const packed = yield* soon(
      read(this.#blockStart(this.#blockEnds.length), this.#trigramBytes),
    );
    checkSum(packed, "the trigrams of a word index");
    const length = this.#maps() * mapBytes(this.#slotBits);
    const bytes = inflated(packed.subarray(4), length);
    const rowsPerMap = this.#rowGroupsPerMap * this.rowGroupRows;
    return mapsWith(part, { bytes, slotBits: this.#slotBits }).map((map) => ({
      start: map * rowsPerMap,
      end: Math.min((map + 1) * rowsPerMap, this.rows),
    }));
  }

  #readBlockList(reader: ByteReader): void {
    let firstEnd = 0;
    let blockEnd = this.#headerBytes;
    for (let block = 0; block < this.#blockEnds.length; block += 1) {
      const first = reader.take(reader.varint());
      this.#firsts.set(first, firstEnd);
      firstEnd += first.length;
      blockEnd += reader.varint();
      this.#firstEnds[block] = firstEnd;
      this.#blockEnds[block] = blockEnd;
    }
  }

  #maps(): number {
    return Math.ceil(Math.ceil(this.rows / this.rowGroupRows) / this.#rowGroupsPerMap);
  }

  #blockStart(block: number): number {
    return block === 0 ? this.#headerBytes : this.#blockEnds[block - 1] as number;
  }

  /** The last block that does not begin behind `text`; the first one, when all do. */
  #blockOf(text: Uint8Array): number {
    let low = 0;
    let high = this.#blockEnds.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.#beginsBehind(middle, text)) high = middle;
      else low = middle;
    }
    return low;
  }

  #beginsBehind(block: number, text: Uint8Array): boolean {
    const start = block === 0 ? 0 : this.#firstEnds[block - 1] as number;
    const size = (this.#firstEnds[block] as number) - start;
    const most = Math.min(text.length, TERM_BYTES_MAX);
    for (let at = 0; at < size; at += 1) {
      if (at === most) return true;
      const difference = (this.#firsts[start + at] as number) - (text[at] as number);
      if (difference !== 0) return difference > 0;
    }
    return false;
  }
}

function readDisputed(reader: ByteReader, total: number): Granules {
  const kind = reader.byte();
  if (kind === DISPUTED_NONE) return new Uint32Array(0);
  if (kind === DISPUTED_ALL) return "everywhere";
  if (kind !== DISPUTED_LIST) throw impossible();
  const bytes = reader.take(reader.varint());
  return readList(bytes, { start: 0, end: bytes.length, total });
}

function impossible(): OperatingError {
  return new OperatingError("corrupt", "Cannot read an index: its header is impossible");
}

/**
 * The distinct words of a text column and where they occur, from the bytes of the column: the tokens of
 * `shared/event/tokenize.ts` without a string for any of them.
 *
 * Text of stable code points (`code_points.ts`) is folded and cut byte by byte; a text with another goes through
 * `tokenize` itself. Rows that the SQL engine may see otherwise are listed as disputed.
 */

import { textOf, utf8 } from "../../base/bytes.ts";
import type { ColumnData } from "../../columns/batch.ts";
import { isNull } from "../../columns/rows.ts";
import { tokenize } from "../../event/tokenize.ts";
import { ALONE, isDisputed, KIND, LETTER, pageOf, SEPARATOR, UNSTABLE } from "./code_points.ts";
import { HASH_START, hashByte, hashBytes } from "./hash.ts";
import { Occurrences, type Places } from "./occurrences.ts";
import { grownInts, scratchInts } from "./scratch.ts";
import { TermTable } from "./term_table.ts";

export interface Words {
  readonly table: TermTable;
  readonly places: Places;
  /** Granules with a row that may match what its words do not, ascending. */
  readonly disputed: Uint32Array;
  /** undefined: too many to keep. */
  readonly sequence: Sequence | undefined;
}

/** The words of all rows in their order. */
export interface Sequence {
  readonly terms: Uint32Array;
  /** Where in `terms` each row ends. */
  readonly rowEnds: Uint32Array;
}

/** 64 MiB. */
const SEQUENCE_MAX = 2 ** 24;

/** A column of a file, in the order of its batches. */
export interface ColumnPart {
  readonly rows: number;
  readonly data: ColumnData;
}

/** A granule has 2^`shift` rows. Errors: `TooMuchToIndex`. */
export function collectWords(parts: readonly ColumnPart[], shift: number): Words {
  const collector = new WordCollector(parts.reduce((sum, part) => sum + part.rows, 0));
  let row = 0;
  for (const { rows, data } of parts) {
    const offsets = data.offsets as Int32Array;
    for (let at = 0; at < rows; at += 1, row += 1) {
      const [start, end] = [offsets[at] as number, offsets[at + 1] as number];
      if (start !== end && !isNull(data, at)) {
        collector.add(data.values, { start, end, granule: row >>> shift });
      }
      collector.endRow(row);
    }
  }
  return collector.finish();
}

/** In `FOLDED_ASCII`: a byte of another code point than ASCII. */
const OTHER = 1;
/** Lower case of ASCII letters, digits and `_`; `SEPARATOR` or `OTHER`. */
const FOLDED_ASCII = new Uint8Array(256).fill(OTHER, 128);
for (let code = 0; code < 128; code += 1) {
  const { classes, folded } = pageOf(code);
  if (classes[code] === LETTER) FOLDED_ASCII[code] = folded[code] as number;
}

/** In place of the term before: there is none in this row. */
const ROW_START = 0;
const UNKNOWN = 0xffff_ffff;

/** A code point in lower case takes at most 3 bytes for 2, and never more than 4. */
const GROWTH_MAX = 2;

interface Place {
  readonly start: number;
  readonly end: number;
  readonly granule: number;
}

class WordCollector {
  readonly #table = new TermTable();
  readonly #occurrences = new Occurrences();
  readonly #disputed: number[] = [];
  readonly #rowEnds: Uint32Array;
  #sequence = new Uint32Array(4096);
  #sequenceLength = 0;
  /** What came last behind the start of a row, then behind each term: in logs it mostly comes again. */
  #followers = new Uint32Array(1024).fill(UNKNOWN);
  #writtenEnd = 0;
  #writtenHash = 0;

  constructor(rows: number) {
    this.#rowEnds = scratchInts(rows);
  }

  endRow(row: number): void {
    this.#rowEnds[row] = this.#sequenceLength;
  }

  add(values: Uint8Array, { start, end, granule }: Place): void {
    this.#occurrences.moveTo(granule);
    this.#table.reserve(GROWTH_MAX * (end - start));
    const at = this.#addAscii(values, start, end);
    if (at < end && !this.#addStable(values, at, end)) {
      this.#addAny(values.subarray(start, end), granule);
    }
  }

  finish(): Words {
    const { count } = this.#table;
    return {
      table: this.#table,
      places: this.#occurrences.finish(count),
      disputed: Uint32Array.from(this.#disputed),
      sequence: this.#sequenceLength > SEQUENCE_MAX ? undefined : {
        terms: this.#sequence.subarray(0, this.#sequenceLength),
        rowEnds: this.#rowEnds,
      },
    };
  }

  /** Up to the first token that has another byte than ASCII; where that begins. */
  #addAscii(values: Uint8Array, start: number, end: number): number {
    let before = ROW_START;
    for (let at = start; at < end;) {
      const byte = values[at] as number;
      if (byte > 0x7f) return at;
      if (FOLDED_ASCII[byte] === SEPARATOR) {
        at += 1;
        continue;
      }
      let term = this.#followers[before] as number;
      let next = term === UNKNOWN ? at : this.#endOfTerm(term, { values, at, end });
      if (next === at) {
        next = this.#writeAscii(values, at, end);
        if (next === at) return at;
        term = this.#table.intern(this.#writtenEnd, this.#writtenHash);
        this.#follow(before, term);
      }
      this.#occurs(term);
      before = term + 1;
      at = next;
    }
    return end;
  }

  /** Where the token at `at` ends, if it is this term; else `at`. */
  #endOfTerm(
    term: number,
    { values, at, end }: { readonly values: Uint8Array; readonly at: number; readonly end: number },
  ): number {
    const { bytes } = this.#table;
    const stop = this.#table.endOf(term);
    let next = at;
    for (let known = this.#table.startOf(term); known < stop; known += 1, next += 1) {
      if (next === end || FOLDED_ASCII[values[next] as number] !== bytes[known]) return at;
    }
    return next === end || FOLDED_ASCII[values[next] as number] === SEPARATOR ? next : at;
  }

  /** Writes the token at `at` to the table, and where it ends there; where it ends, or `at`: it is not all ASCII. */
  #writeAscii(values: Uint8Array, at: number, end: number): number {
    const { bytes } = this.#table;
    let { length } = this.#table;
    let hash = HASH_START;
    let next = at;
    for (; next < end; next += 1) {
      const folded = FOLDED_ASCII[values[next] as number] as number;
      if (folded === SEPARATOR) break;
      if (folded === OTHER) return at;
      bytes[length] = folded;
      length += 1;
      hash = hashByte(hash, folded);
    }
    this.#writtenEnd = length;
    this.#writtenHash = hash;
    return next;
  }

  /** Remembers that `term` came behind the token `before`. */
  #follow(before: number, term: number): void {
    if (term + 1 >= this.#followers.length) {
      this.#followers = grownInts(this.#followers, 2 * this.#followers.length + term, UNKNOWN);
    }
    this.#followers[before] = term;
  }

  /** False at the first code point that is not stable. */
  #addStable(values: Uint8Array, start: number, end: number): boolean {
    const table = this.#table;
    let { length } = table;
    for (let at = start; at < end;) {
      const first = values[at] as number;
      const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      const codePoint = codePointAt(values, at, size);
      at += size;
      const { classes, folded } = pageOf(codePoint);
      const flags = classes[codePoint & 0xff] as number;
      if ((flags & UNSTABLE) !== 0) return false;
      const kind = flags & KIND;
      if (kind === LETTER) {
        length = writeCodePoint(table.bytes, length, folded[codePoint & 0xff] as number);
        continue;
      }
      if (length !== table.length) length = this.#take(length);
      if (kind === ALONE) {
        length = this.#take(
          writeCodePoint(table.bytes, length, folded[codePoint & 0xff] as number),
        );
      }
    }
    if (length !== table.length) this.#take(length);
    return true;
  }

  /** Takes the token that was written up to `end`; where the next is to be written. */
  #take(end: number): number {
    const table = this.#table;
    const hash = hashBytes(table.bytes.subarray(table.length, end));
    this.#occurs(table.intern(end, hash));
    return table.length;
  }

  #occurs(term: number): void {
    this.#occurrences.add(term);
    if (this.#sequenceLength < SEQUENCE_MAX) {
      if (this.#sequenceLength === this.#sequence.length) {
        this.#sequence = grownInts(this.#sequence, 2 * this.#sequence.length);
      }
      this.#sequence[this.#sequenceLength] = term;
    }
    this.#sequenceLength += 1;
  }

  #addAny(value: Uint8Array, granule: number): void {
    const text = textOf(value);
    if (this.#disputed.at(-1) !== granule && (!isNormal(text) || isDisputed(text))) {
      this.#disputed.push(granule);
    }
    for (const token of tokenize(text)) {
      const bytes = utf8(token);
      this.#table.reserve(bytes.length);
      this.#table.bytes.set(bytes, this.#table.length);
      this.#take(this.#table.length + bytes.length);
    }
  }
}

/** A part of a text in another normal form need not be a part of its words. */
function isNormal(text: string): boolean {
  return text.normalize("NFC") === text;
}

/** Of valid UTF-8. */
function codePointAt(bytes: Uint8Array, at: number, size: number): number {
  const first = bytes[at] as number;
  if (size === 1) return first;
  let codePoint = first & (0x7f >> size);
  for (let i = 1; i < size; i += 1) codePoint = codePoint << 6 | (bytes[at + i] as number) & 0x3f;
  return codePoint;
}

/** Writes `codePoint` as UTF-8; where it ends. */
function writeCodePoint(bytes: Uint8Array, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    bytes[at] = codePoint;
    return at + 1;
  }
  const size = codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
  for (let i = size - 1; i > 0; i -= 1) {
    bytes[at + i] = 0x80 | codePoint >> 6 * (size - 1 - i) & 0x3f;
  }
  bytes[at] = 0xf00 >> size & 0xff | codePoint >> 6 * (size - 1);
  return at + size;
}

/**
 * The distinct words of a text column and where they occur, from the bytes of the column: the
 * tokens of `shared/derived/text/tokenize.ts` without a string for any of them.
 *
 * Text of stable code points (`code_points.ts`) is folded and cut byte by byte; a text with another
 * goes through `tokenize` itself. Rows that DuckDB may see otherwise are listed as
 * disputed.
 */

import { throwIfLate } from "../../os/task_deadline.ts";
import { textOf, utf8, viewOf } from "../../base/bytes.ts";
import type { ColumnData } from "../../columns/batch.ts";
import { isNull } from "../../columns/rows.ts";
import { lowerBeyondAscii, writtenTokens } from "./tokenize.ts";
import { ALONE, isDisputed, KIND, LETTER, pageOf, SEPARATOR, UNSTABLE } from "./code_points.ts";
import { HASH_START, hashBetween, hashByte } from "./hash.ts";
import { Occurrences, type Places } from "./occurrences.ts";
import { grownInts, scratchInts } from "./scratch.ts";
import { Spellings, VariantList } from "./spellings.ts";
import { TermTable } from "./term_table.ts";

export interface Words {
  readonly table: TermTable;
  readonly places: Places;
  readonly spellings: Spellings;
  /** Granules with a row that may match what its words do not, ascending. */
  readonly disputed: Uint32Array;
  /** undefined: not wanted, or too many to keep. */
  readonly sequence: Sequence | undefined;
}

/** The words of all rows in their order. */
export interface Sequence {
  readonly terms: Uint32Array;
  /** Where in `terms` each row ends. */
  readonly rowEnds: Uint32Array;
  /** Where in `terms` words have capitals, of which rows may tell. */
  readonly variants: Pick<VariantList, "isWhole" | "places" | "variants">;
}

/** 64 MiB. */
const SEQUENCE_MAX = 2 ** 24;

/** A column of a file, in the order of its batches. */
export interface ColumnPart {
  readonly rows: number;
  readonly data: ColumnData;
}

/**
 * A granule has 2^`shift` rows; `keepsSequence`: whether the order of the words is wanted. Errors:
 * `TooMuchToIndex`.
 */
export function collectWords(
  parts: readonly ColumnPart[],
  { shift, keepsSequence }: { readonly shift: number; readonly keepsSequence: boolean },
): Words {
  const collector = new WordCollector(parts, keepsSequence);
  let row = 0;
  for (const { rows, data } of parts) {
    const offsets = data.offsets as Int32Array;
    collector.begin(data.values);
    for (let at = 0; at < rows; at += 1, row += 1) {
      const [start, end] = [offsets[at] as number, offsets[at + 1] as number];
      if (start !== end && !isNull(data, at)) {
        collector.add({ start, end, granule: row >>> shift });
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
/** In place of a position among recent tokens. */
const UNKNOWN = -1;
/** So many of the tokens that came last are compared with, a power of two: some thousand lines. */
const RECENT = 2 ** 15;
const RECENT_MASK = RECENT - 1;
/** In place of a term: where the tokens of a text end. */
const END = -1;

/** A code point in lower case takes at most 3 bytes for 2, and never more than 4. */
const GROWTH_MAX = 2;

interface Place {
  readonly start: number;
  readonly end: number;
  readonly granule: number;
}

class WordCollector {
  readonly #table: TermTable;
  readonly #occurrences = new Occurrences();
  readonly #spellings = new Spellings();
  readonly #variants = new VariantList();
  readonly #disputed: number[] = [];
  readonly #keepsSequence: boolean;
  readonly #rowEnds: Uint32Array;
  #sequence = new Uint32Array(4096);
  #sequenceLength = 0;
  #knownEnd = 0;
  /** Bytes of the part. */
  #values: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#values.buffer);
  /**
   * The tokens that came last, terms and variants, by position modulo `RECENT`, and where in the
   * part's values each begins.
   */
  readonly #recent = new Int32Array(RECENT);
  readonly #recentStarts = new Int32Array(RECENT);
  /** Positions: of the first of this part, and of the one that comes next. */
  #first = 0;
  #next = 0;
  /**
   * Positions behind the start of the last row, then behind each term where it last was another
   * than expected.
   */
  #behind = new Int32Array(1024).fill(UNKNOWN);

  constructor(parts: readonly ColumnPart[], keepsSequence: boolean) {
    const [rows, bytes] = [
      sum(parts, ({ rows }) => rows),
      sum(parts, ({ data }) => data.values.length),
    ];
    this.#table = new TermTable(bytes);
    this.#keepsSequence = keepsSequence;
    this.#rowEnds = scratchInts(keepsSequence ? rows : 0);
  }

  endRow(row: number): void {
    if (this.#keepsSequence) this.#rowEnds[row] = this.#sequenceLength;
  }

  /** The texts that follow are parts of `values`. */
  begin(values: Uint8Array): void {
    this.#values = values;
    this.#view = viewOf(values);
    this.#first = this.#next;
  }

  add({ start, end, granule }: Place): void {
    const values = this.#values;
    this.#occurrences.moveTo(granule);
    this.#table.reserve(GROWTH_MAX * (end - start));
    this.#reserveSequence(GROWTH_MAX * (end - start));
    const before = this.#sequenceLength;
    const at = this.#addAscii(values, start, end);
    if (at < end && !this.#addStable(values, at, end)) {
      // All of its words follow, also those that are there already.
      this.#sequenceLength = before;
      this.#variants.cut(before);
      this.#addAny(values.subarray(start, end), granule);
    }
  }

  finish(): Words {
    const { count } = this.#table;
    return {
      table: this.#table,
      places: this.#occurrences.finish(count),
      spellings: this.#spellings,
      disputed: Uint32Array.from(this.#disputed),
      sequence: !this.#keepsSequence || this.#sequenceLength > SEQUENCE_MAX ? undefined : {
        terms: this.#sequence.subarray(0, this.#sequenceLength),
        rowEnds: this.#rowEnds,
        variants: this.#variants,
      },
    };
  }

  /**
   * Up to the first token that has another byte than ASCII; where that begins. Lines of logs repeat
   * each other but for some words: what came before is compared with as it stands, whatever tokens
   * it has.
   */
  #addAscii(values: Uint8Array, start: number, end: number): number {
    const [table, spellings] = [this.#table, this.#spellings];
    let expected = this.#behind[ROW_START] as number;
    let other = UNKNOWN;
    this.#behind[ROW_START] = this.#next;
    let at = start;
    let mayGoOn = true;
    for (;;) {
      throwIfLate();
      while (at < end && FOLDED_ASCII[values[at] as number] === SEPARATOR) at += 1;
      if (at === end) break;
      let behind = at;
      if (mayGoOn && this.#beginsLike(expected, at)) behind = this.#addKnown(expected, at, end);
      if (behind === at && this.#beginsLike(other, at)) behind = this.#addKnown(other, at, end);
      if (behind !== at) {
        expected = this.#knownEnd;
        other = UNKNOWN;
        at = behind;
        // It went on as far as it could.
        mayGoOn = false;
        continue;
      }
      mayGoOn = true;
      const { bytes } = table;
      let { length } = table;
      let hash = HASH_START;
      let folded = SEPARATOR;
      let capital = 0;
      let next = at;
      for (; next < end; next += 1) {
        const byte = values[next] as number;
        folded = FOLDED_ASCII[byte] as number;
        if (folded <= OTHER) break;
        capital |= folded ^ byte;
        bytes[length] = folded;
        length += 1;
        hash = hashByte(hash, folded);
      }
      if (next < end && folded === OTHER) break;
      const term = table.intern(length, hash);
      const id = capital === 0 ? term : spellings.idOf(term, values, at, next);
      this.#occurs(id);
      this.#remember(id, at);
      if (term + 1 >= this.#behind.length) this.#growBehind(term);
      other = this.#behind[term + 1] as number;
      this.#behind[term + 1] = this.#next;
      // A word that is another here: the text may go on as it did there.
      if (expected !== UNKNOWN) expected += 1;
      at = next;
    }
    this.#remember(END, at);
    return at;
  }

  #growBehind(term: number): void {
    const larger = new Int32Array(2 * this.#behind.length + term).fill(UNKNOWN);
    larger.set(this.#behind);
    this.#behind = larger;
  }

  /**
   * Whether the token at `position` is among the recent ones, and has the first byte of `at`. The
   * last one does not count: nothing is taken of it alone. A text that repeats one word would be
   * compared to its end for each.
   */
  #beginsLike(position: number, at: number): boolean {
    const distance = this.#next - position;
    if (position < this.#first || distance <= 1 || distance >= RECENT) return false;
    const start = this.#recentStarts[position & RECENT_MASK] as number;
    return this.#values[start] === this.#values[at];
  }

  /**
   * Adds the tokens at `at` that are those from `position` on, as long as all bytes are the same up
   * to where the next token begins. Where they end, `#knownEnd` being the position behind them; or
   * `at`.
   */
  #addKnown(position: number, at: number, end: number): number {
    const [recent, starts, view] = [this.#recent, this.#recentStarts, this.#view];
    const start = starts[position & RECENT_MASK] as number;
    const most = Math.min(end - at, view.byteLength - start);
    let same = 0;
    let difference = 0;
    for (; same + 4 <= most && difference === 0; same += 4) {
      difference = view.getInt32(start + same, true) ^ view.getInt32(at + same, true);
    }
    if (difference !== 0) same -= 4 - (31 - Math.clz32(difference & -difference) >> 3);
    else while (same < most && view.getUint8(start + same) === view.getUint8(at + same)) same += 1;
    const occurrences = this.#occurrences;
    const { lastSeen, mark } = occurrences;
    const keepsSequence = this.#keepsSequence;
    const sequence = this.#sequence;
    let kept = this.#sequenceLength;
    let next = this.#next;
    let from = at;
    let here = position;
    let id = recent[here & RECENT_MASK] as number;
    while (here + 1 < next && id !== END) {
      const after = recent[here + 1 & RECENT_MASK] as number;
      const length = (starts[here + 1 & RECENT_MASK] as number) - start;
      if (length > same || (after === END && !this.#isBoundary(at + length, end))) break;
      const term = id < END ? this.#spellings.termOf(id) : id;
      if (lastSeen[term] !== mark) occurrences.add(term);
      if (keepsSequence) {
        sequence[kept] = term;
        if (id < END) this.#variants.add(kept, id);
      }
      kept += 1;
      recent[next & RECENT_MASK] = id;
      starts[next & RECENT_MASK] = from;
      next += 1;
      from = at + length;
      here += 1;
      id = after;
    }
    this.#next = next;
    this.#sequenceLength = kept;
    this.#knownEnd = here;
    return from;
  }

  /** Whether no token goes on from before `at` to behind it. */
  #isBoundary(at: number, end: number): boolean {
    const values = this.#values;
    return at === end || FOLDED_ASCII[values[at] as number] === SEPARATOR ||
      FOLDED_ASCII[values[at - 1] as number] === SEPARATOR;
  }

  #remember(id: number, start: number): void {
    const place = this.#next & RECENT_MASK;
    this.#recent[place] = id;
    this.#recentStarts[place] = start;
    this.#next += 1;
  }

  /** False at the first code point that is not stable. */
  #addStable(values: Uint8Array, start: number, end: number): boolean {
    const table = this.#table;
    let { length } = table;
    // Where the token begins in `values`.
    let from = start;
    for (let at = start; at < end;) {
      const first = values[at] as number;
      const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      const codePoint = codePointAt(values, at, size);
      const { classes, folded } = pageOf(codePoint);
      const flags = classes[codePoint & 0xff] as number;
      if ((flags & UNSTABLE) !== 0) return false;
      const kind = flags & KIND;
      if (kind !== LETTER && length !== table.length) {
        length = this.#take(length, values.subarray(from, at));
      }
      if (length === table.length) from = at;
      at += size;
      if (kind === SEPARATOR) continue;
      length = writeCodePoint(table.bytes, length, folded[codePoint & 0xff] as number);
      if (kind === ALONE) length = this.#take(length, values.subarray(from, at));
    }
    if (length !== table.length) this.#take(length, values.subarray(from, end));
    return true;
  }

  /**
   * Takes the token that stands in the table up to `end`, and is `written` in the text; where the
   * next is to be written.
   */
  #take(end: number, written: Uint8Array): number {
    const table = this.#table;
    this.#takeTerm(table.intern(end, hashBetween(table.bytes, table.length, end)), written);
    return table.length;
  }

  #takeTerm(term: number, written: Uint8Array): void {
    throwIfLate();
    this.#occurs(written.some(isCapital) ? this.#variantOf(term, written) : term);
  }

  #variantOf(term: number, written: Uint8Array): number {
    const values = utf8(lowerBeyondAscii(textOf(written)));
    return this.#spellings.idOf(term, values, 0, values.length);
  }

  #occurs(id: number): void {
    const term = id < END ? this.#spellings.termOf(id) : id;
    this.#occurrences.add(term);
    if (!this.#keepsSequence) return;
    if (id < END) this.#variants.add(this.#sequenceLength, id);
    this.#sequence[this.#sequenceLength] = term;
    this.#sequenceLength += 1;
  }

  /** Makes room for the words of a text of so many bytes: none of more than are kept. */
  #reserveSequence(bytes: number): void {
    if (!this.#keepsSequence) return;
    const needed = this.#sequenceLength + bytes;
    if (needed <= this.#sequence.length || this.#sequence.length > SEQUENCE_MAX) return;
    this.#sequence = grownInts(this.#sequence, Math.max(2 * this.#sequence.length, needed));
  }

  #addAny(value: Uint8Array, granule: number): void {
    const text = textOf(value);
    if (this.#disputed.at(-1) !== granule && (!isNormal(text) || isDisputed(text))) {
      this.#disputed.push(granule);
    }
    for (const token of writtenTokens(text)) {
      const bytes = utf8(token.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()));
      this.#takeTerm(this.#table.numberOf(bytes, 0, bytes.length), utf8(token));
    }
  }
}

/** Whether a byte is an ASCII letter in upper case. */
function isCapital(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a;
}

/** A part of a text in another normal form need not be a part of its words. */
function isNormal(text: string): boolean {
  return text.normalize("NFC") === text;
}

/** The code point at `at`, which is `size` bytes of valid UTF-8. */
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

function sum(parts: readonly ColumnPart[], of: (part: ColumnPart) => number): number {
  return parts.reduce((total, part) => total + of(part), 0);
}

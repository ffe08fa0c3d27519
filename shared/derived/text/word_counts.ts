/**
 * `svc-word-counts-v2`: how many rows of a data file have a frequent word of a text column, or two
 * of them side by side. README.md has the bytes.
 */

import { areSameBytes, textOf, utf8 } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { unzigzag, writeVarint, writeZigzag } from "../../columns/varint.ts";
import type { ByteReader } from "./bits.ts";
import { impossibleCounts, openCounts, packCounts } from "./packed_counts.ts";

export const WORD_COUNTS_TYPE = "svc-word-counts-v2";
/** It counts pairs that no text has, and no word too often. */
export const FALSE_PAIRS_TYPE = "svc-word-counts-v1";
/**
 * A property: the data file has a column that tells which words each row has, `all` of them or the
 * `counted` ones.
 */
export const TOLD_WORDS_PROPERTY = "told-words";

/** What is counted of a column. */
export interface WordCounts {
  /** Minutes since 1970 that have rows, ascending. */
  readonly minutes: readonly number[];
  /** Rows of each minute, and those without a text. */
  readonly rows: readonly number[];
  readonly nulls: readonly number[];
  /** The first so many entries have counts by minute. */
  readonly timed: number;
  /** The most frequent first; pairs come behind their words. */
  readonly entries: readonly CountedEntry[];
}

/** A word, or a pair: the places of its words among the entries, the first word first. */
export type CountedWords = { readonly word: string } | { readonly pair: readonly number[] };

/** Words, and how many rows have them. */
export type CountedEntry = CountedWords & {
  readonly rows: number;
  readonly byMinute: Uint32Array | undefined;
};

/** How many rows there are, how many of them have certain words, and how many have no text. */
export interface WordRows {
  readonly rows: number;
  readonly withWords: number;
  readonly nulls: number;
}

/** The rows of a file, and, where that is known, of each minute in their order. */
export interface FileWordRows extends WordRows {
  readonly byMinute: readonly (WordRows & { readonly minute: number })[] | undefined;
}

export function encodeWordCounts(counts: WordCounts): Uint8Array {
  const plain = new ByteBuilder();
  const [first = 0] = counts.minutes;
  writeVarint(plain, counts.minutes.length);
  writeZigzag(plain, first);
  counts.minutes.forEach((minute, at) => {
    if (at > 0) writeVarint(plain, minute - (counts.minutes[at - 1] as number));
  });
  for (const rows of [...counts.rows, ...counts.nulls]) writeVarint(plain, rows);
  writeVarint(plain, counts.timed);
  writeVarint(plain, counts.entries.length);
  for (const entry of counts.entries) {
    if ("word" in entry) {
      const bytes = utf8(entry.word);
      writeVarint(plain, 0);
      writeVarint(plain, bytes.length);
      plain.append(bytes);
    } else {
      const [before = 0, behind = 0] = entry.pair;
      writeVarint(plain, before + 1);
      writeVarint(plain, behind);
    }
    writeVarint(plain, entry.rows);
    for (const rows of entry.byMinute ?? []) writeVarint(plain, rows);
  }
  return packCounts(plain.take());
}

/**
 * The rows of a file of `rows` rows that have a word, or two of them side by side. undefined: these
 * are not counted. Errors: `corrupt`.
 */
export function findWordRows(
  blob: Uint8Array,
  words: readonly string[],
  rows: number,
): FileWordRows | undefined {
  const counts = new CountsReader(blob, rows);
  const found = findEntry(counts, words);
  return found && counts.rowsOf(found.entry);
}

/**
 * Which entry the words are, and how many rows have them. undefined: these are not counted. Errors:
 * `corrupt`.
 */
export function findCountedWords(
  blob: Uint8Array,
  words: readonly string[],
  rows: number,
): { readonly place: number; readonly rows: number } | undefined {
  const found = findEntry(new CountsReader(blob, rows), words);
  return found && { place: found.place, rows: found.entry.rows };
}

function findEntry(
  counts: CountsReader,
  words: readonly string[],
): { readonly place: number; readonly entry: ReadEntry } | undefined {
  const wanted = words.map(utf8);
  const places = wanted.map(() => -1);
  for (let place = 0; place < counts.length; place += 1) {
    const entry = counts.next();
    if (entry.word !== undefined) {
      for (const [at, word] of wanted.entries()) {
        if (areSameBytes(entry.word, word)) places[at] = place;
      }
    }
    const isWanted = entry.word === undefined
      ? words.length === 2 && entry.pair.every((own, at) => own === places[at])
      : words.length === 1 && places[0] === place;
    if (isWanted) return { place, entry };
    counts.skipMinutes();
  }
  counts.end();
  return undefined;
}

/** The words and pairs that are counted, the most frequent first. Errors: `corrupt`. */
export function countedWords(blob: Uint8Array, rows: number): readonly (readonly string[])[] {
  const counts = new CountsReader(blob, rows);
  const entries: (readonly string[])[] = [];
  for (let place = 0; place < counts.length; place += 1) {
    const { word, pair } = counts.next();
    entries.push(word === undefined ? pair.flatMap((at) => entries[at] ?? []) : [textOf(word)]);
    counts.skipMinutes();
  }
  counts.end();
  return entries;
}

interface ReadEntry {
  /** undefined: it is a pair. */
  readonly word: Uint8Array | undefined;
  readonly pair: readonly number[];
  readonly rows: number;
}

/** The parts of a blob, one entry after the other. */
class CountsReader {
  readonly #minutes: readonly number[];
  readonly #rowsOfMinutes: readonly number[];
  readonly #nulls: readonly number[];
  readonly #timed: number;
  /** Entries. */
  readonly length: number;
  readonly #reader: ByteReader;
  readonly #bytes: number;
  #read = 0;

  /** Errors: `corrupt`. */
  constructor(blob: Uint8Array, rows: number) {
    const { reader, bytes } = openCounts(blob);
    const count = reader.varint();
    if (count > bytes) throw impossibleCounts();
    let minute = unzigzag(reader.varint());
    this.#minutes = Array.from({ length: count }, (_, at) => {
      if (at > 0) minute += reader.varint();
      return minute;
    });
    this.#rowsOfMinutes = this.#minutes.map(() => reader.varint());
    this.#nulls = this.#minutes.map(() => reader.varint());
    if (sum(this.#rowsOfMinutes) !== rows) throw impossibleCounts();
    this.#timed = reader.varint();
    this.length = reader.varint();
    this.#reader = reader;
    this.#bytes = bytes;
  }

  /** The next entry. Its minutes follow, which must be read or skipped. */
  next(): ReadEntry {
    const reader = this.#reader;
    const kind = reader.varint();
    const word = kind === 0 ? reader.take(reader.varint()) : undefined;
    const pair = kind === 0 ? [] : [kind - 1, reader.varint()];
    this.#read += 1;
    return { word, pair, rows: reader.varint() };
  }

  #minutesOf({ rows }: ReadEntry): Uint32Array | undefined {
    if (this.#read > this.#timed) return undefined;
    const byMinute = Uint32Array.from(this.#minutes, () => this.#reader.varint());
    if (sum(byMinute) !== rows) throw impossibleCounts();
    return byMinute;
  }

  skipMinutes(): void {
    if (this.#read <= this.#timed) this.#reader.skipVarints(this.#minutes.length);
  }

  /** The rows of `entry`, which was read last. */
  rowsOf(entry: ReadEntry): FileWordRows {
    const byMinute = this.#minutesOf(entry);
    return {
      rows: sum(this.#rowsOfMinutes),
      withWords: entry.rows,
      nulls: sum(this.#nulls),
      byMinute: byMinute &&
        this.#minutes.map((minute, at) => ({
          minute,
          rows: this.#rowsOfMinutes[at] as number,
          withWords: byMinute[at] as number,
          nulls: this.#nulls[at] as number,
        })),
    };
  }

  end(): void {
    if (this.#reader.at !== this.#bytes) throw impossibleCounts();
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

/**
 * Which frequent words each row has, as a column of the data file. All words of a row are one text,
 * with its pairs of words side by side. Lines of logs are written by few statements of a program.
 * So there are few such texts, and a row takes about a byte. README.md has the form.
 */

import type { WordsColumn } from "../../schema/row_words.ts";
import { mixed } from "./hash.ts";
import { scratchInts, scratchShorts } from "./scratch.ts";

/** The words of each row of a file. */
export type RowWords = Pick<WordsColumn, "ids" | "sets">;

/** Things of a row are words and pairs, each with a number. */
export interface RowThings {
  /** The things of each row, each once, row by row. */
  readonly things: Uint16Array;
  /** Where in `things` each row ends. */
  readonly ends: Uint32Array;
}

/** What a set begins with, and what follows each thing of it: no word has it. */
const SEPARATOR = "|";
/**
 * With more sets there is no such column. A reader compares each once, and each takes some 200
 * bytes.
 */
const SETS_MAX = 4_096;
const SET_LENGTHS_MAX = 512 * 1_024;
const SLOTS = 4 * SETS_MAX;

/** A set of words, and of words side by side. */
export function setText(members: readonly (readonly string[])[]): string {
  return SEPARATOR + members.map((words) => words.join(" ") + SEPARATOR).join("");
}

/** How a set has a word, or two of them side by side: as the set of nothing else. */
export function memberText(words: readonly string[]): string {
  return setText([words]);
}

/** Whether a set has a word, or these words side by side. */
export function hasWords(set: string, words: readonly string[]): boolean {
  return set.includes(memberText(words));
}

/**
 * Whether rows tell of a word: not of one with a digit. Parts of addresses and ids would make
 * nearly each set another one.
 */
export function isTold(word: string): boolean {
  return !/\p{Nd}/u.test(word);
}

/**
 * The words of each row. `texts` has each thing as text; undefined: rows do not tell of it.
 * undefined: there are too many sets.
 */
export function rowWords(
  { things, ends }: RowThings,
  texts: readonly (string | undefined)[],
  isNull: (row: number) => boolean,
): RowWords | undefined {
  const sets = new SetTable(texts);
  const ids = new Uint16Array(ends.length);
  const hashes = Uint32Array.from(
    texts,
    (text, thing) => text === undefined ? 0 : mixed(thing + 1),
  );
  const told = scratchShorts(texts.length);
  for (let row = 0, at = 0; row < ends.length; row += 1) {
    const end = ends[row] as number;
    let [count, hash] = [0, 0];
    for (; at < end; at += 1) {
      const thing = things[at] as number;
      // Things that are not counted have no number among them.
      const own = hashes[thing] ?? 0;
      if (own === 0) continue;
      hash = hash + own | 0;
      told[count++] = thing;
    }
    if (isNull(row)) continue;
    const set = sets.numberOf(told, count, hash);
    if (set < 0) return undefined;
    ids[row] = set + 1;
  }
  const written = sets.texts();
  return written && { ids, sets: written };
}

/** Sets of things, numbered: open addressing by the sum of the hashes of a set's things. */
class SetTable {
  readonly #names: readonly (string | undefined)[];
  /** One more than a set; 0: free. */
  readonly #slots = scratchInts(SLOTS).fill(0);
  readonly #hashes: number[] = [];
  readonly #members: Uint16Array[] = [];
  /** By thing: the last comparison that asked for it. */
  readonly #asked: Uint32Array;
  #comparisons = 0;

  constructor(names: readonly (string | undefined)[]) {
    this.#names = names;
    this.#asked = scratchInts(names.length).fill(0);
  }

  /** The number of the set of the first `count` of `things`; -1: there is no room for it. */
  numberOf(things: Uint16Array, count: number, hash: number): number {
    let slot = hash & SLOTS - 1;
    for (;; slot = (slot + 1) & SLOTS - 1) {
      const set = (this.#slots[slot] as number) - 1;
      if (set < 0) break;
      if (this.#hashes[set] === hash && this.#isSame(set, things, count)) return set;
    }
    if (this.#members.length === SETS_MAX) return -1;
    this.#hashes.push(hash);
    this.#slots[slot] = this.#members.push(things.slice(0, count));
    return this.#members.length - 1;
  }

  /** Whether these are the things of a set, in any order. */
  #isSame(set: number, things: Uint16Array, count: number): boolean {
    const members = this.#members[set] as Uint16Array;
    if (members.length !== count) return false;
    const mark = this.#comparisons += 1;
    for (let at = 0; at < count; at += 1) this.#asked[things[at] as number] = mark;
    for (let at = 0; at < count; at += 1) {
      if (this.#asked[members[at] as number] !== mark) return false;
    }
    return true;
  }

  /** undefined: they are too long. */
  texts(): readonly string[] | undefined {
    let length = 0;
    const texts: string[] = [];
    for (const members of this.#members) {
      const names = [...members].toSorted((a, b) => a - b).map((thing) => this.#names[thing] ?? "");
      const text = setText(names.map((name) => [name]));
      length += text.length;
      if (length > SET_LENGTHS_MAX) return undefined;
      texts.push(text);
    }
    return texts;
  }
}

/**
 * Which words each row has, as a column of the data file. All words of a row are one text, a
 * *set*. Lines of logs are written by few statements of a program. So there are few such texts, and
 * a row takes about a byte. README.md has the form.
 */

import { utf8 } from "../../base/bytes.ts";
import { throwIfLate } from "../../os/task_deadline.ts";
import type { WordsColumn } from "../../schema/row_words.ts";
import { hashBytes, mixed } from "./hash.ts";
import { scratchInts } from "./scratch.ts";

/** The words of each row of a file. */
export type RowWords = Pick<WordsColumn, "ids" | "sets">;

/** What a set may have. */
export interface Member {
  /** What stands on both sides of it, and in no member of this kind. */
  readonly delimiter: (typeof DELIMITERS)[number];
  readonly text: string;
}

/** Things of rows, one after the other, and which member each is. */
export interface RowThings<Things extends Uint16Array | Uint32Array> {
  readonly things: Things;
  /** Where in `things` each row ends. */
  readonly ends: Uint32Array;
  /** By thing: one more than a member; 0 and beyond: none. */
  readonly memberOf: Uint32Array;
}

/** The words of rows, which may be written in several ways. */
export interface WrittenThings extends RowThings<Uint32Array> {
  /** Places in `things`, ascending, that have another thing, and a member of its own. */
  readonly others: {
    readonly places: Uint32Array;
    /** For each place: what it is. */
    readonly things: Uint32Array;
    /** By what a place is: one more than a member; 0: none. */
    readonly memberOf: Uint32Array;
  };
}

/** What members stand between: words, pairs of them, and runs of letters; in this order. */
const DELIMITERS = ["|", "#", "~"] as const;
/** What a set begins with. */
const START = "|";
/**
 * With more sets there is no such column. A reader compares each once, and each takes some 200
 * bytes.
 */
const SETS_MAX = 4_096;
const SLOTS = 4 * SETS_MAX;

/** A word, or two of them side by side, as a member of sets. */
export function memberOf(words: readonly string[]): Member {
  const [word = "", ...others] = words;
  if (others.length === 0) return { delimiter: "|", text: word };
  const hash = mixed(hashBytes(utf8(words.join(" "))));
  return { delimiter: "#", text: hash.toString(16).padStart(8, "0") };
}

/** A set of these members. */
export function setText(members: readonly Member[]): string {
  let text = START;
  let last: string = START;
  for (const delimiter of DELIMITERS) {
    for (const member of members) {
      if (member.delimiter !== delimiter) continue;
      text += (delimiter === last ? "" : delimiter) + member.text + delimiter;
      last = delimiter;
    }
  }
  return text;
}

/** How a set has a member, a word in whatever case: as a part of its text. */
export function memberText({ delimiter, text }: Member): string {
  return delimiter + text + delimiter;
}

/** The words and pairs of each row. undefined: there are too many sets. */
export function rowWords(
  words: WrittenThings,
  pairs: RowThings<Uint16Array>,
  { members, isNull, lengthMax }: {
    readonly members: readonly Member[];
    readonly isNull: (row: number) => boolean;
    /** Characters of all sets. */
    readonly lengthMax: number;
  },
): RowWords | undefined {
  const ids = new Uint16Array(words.ends.length);
  const sets = new SetTable(members);
  const own = new RowMembers(words, pairs, members.length);
  for (let row = 0; row < ids.length; row += 1) {
    throwIfLate();
    own.next();
    if (isNull(row)) continue;
    const set = sets.numberOf(own);
    if (set < 0) return undefined;
    ids[row] = set + 1;
  }
  const texts = sets.texts(lengthMax);
  return texts && { ids, sets: texts };
}

/** The members of the set of one row after the other. */
class RowMembers {
  /** `count` of them, each once, in any order. */
  readonly list: Uint32Array;
  count = 0;
  /** The sum of their hashes. */
  hash = 0;
  readonly #words: WrittenThings;
  readonly #pairs: RowThings<Uint16Array>;
  /** By member. */
  readonly #hashes: Uint32Array;
  /** By member: one more than the row that had it last. */
  readonly #seen: Uint32Array;
  #row = -1;
  /** Where words and pairs of the next row begin. */
  #word = 0;
  #pair = 0;
  /** The next place that has another thing, and which of these it is. -1: there is no further. */
  #place: number;
  #other = 0;

  constructor(words: WrittenThings, pairs: RowThings<Uint16Array>, members: number) {
    this.#words = words;
    this.#pairs = pairs;
    this.#hashes = Uint32Array.from({ length: members }, (_, member) => mixed(member + 1));
    this.#seen = scratchInts(members).fill(0);
    this.list = scratchInts(members);
    this.#place = words.others.places[0] ?? -1;
  }

  /** Goes on to the next row. */
  next(): void {
    this.#row += 1;
    this.count = 0;
    this.hash = 0;
    this.#addWords(this.#words.ends[this.#row] as number);
    this.#addPairs(this.#pairs.ends[this.#row] as number);
  }

  // Functions of their own: V8 leaves a loop that it compiled within a loop at each of its ends.
  #addWords(end: number): void {
    const { things, memberOf, others } = this.#words;
    const mark = this.#row + 1;
    for (let at = this.#word; at < end; at += 1) {
      let member = memberOf[things[at] as number] as number;
      if (at === this.#place) {
        member = others.memberOf[others.things[this.#other] as number] as number;
        this.#other += 1;
        this.#place = others.places[this.#other] ?? -1;
      }
      if (member === 0 || this.#seen[member - 1] === mark) continue;
      this.#seen[member - 1] = mark;
      this.#add(member - 1);
    }
    this.#word = end;
  }

  #addPairs(end: number): void {
    const { things, memberOf } = this.#pairs;
    for (let at = this.#pair; at < end; at += 1) {
      const member = memberOf[things[at] as number] ?? 0;
      if (member !== 0) this.#add(member - 1);
    }
    this.#pair = end;
  }

  #add(member: number): void {
    this.hash = this.hash + (this.#hashes[member] as number) | 0;
    this.list[this.count++] = member;
  }
}

/** Sets of members, numbered: open addressing by the sum of the hashes of a set's members. */
class SetTable {
  readonly #all: readonly Member[];
  /** One more than a set; 0: free. */
  readonly #slots = scratchInts(SLOTS).fill(0);
  readonly #hashes: number[] = [];
  readonly #members: Uint32Array[] = [];
  /** By member: the last comparison that asked for it. */
  readonly #asked: Uint32Array;
  #comparisons = 0;

  constructor(all: readonly Member[]) {
    this.#all = all;
    this.#asked = scratchInts(all.length).fill(0);
  }

  /** The number of a row's set; -1: there is no room for it. */
  numberOf({ list, count, hash }: RowMembers): number {
    let slot = hash & SLOTS - 1;
    for (;; slot = (slot + 1) & SLOTS - 1) {
      const set = (this.#slots[slot] as number) - 1;
      if (set < 0) break;
      if (this.#hashes[set] === hash && this.#isSame(set, list, count)) return set;
    }
    if (this.#members.length === SETS_MAX) return -1;
    this.#hashes.push(hash);
    this.#slots[slot] = this.#members.push(list.slice(0, count));
    return this.#members.length - 1;
  }

  /** Whether these are the members of a set, in any order. */
  #isSame(set: number, members: Uint32Array, count: number): boolean {
    const known = this.#members[set] as Uint32Array;
    if (known.length !== count) return false;
    const mark = this.#comparisons += 1;
    for (let at = 0; at < count; at += 1) this.#asked[members[at] as number] = mark;
    for (let at = 0; at < count; at += 1) {
      if (this.#asked[known[at] as number] !== mark) return false;
    }
    return true;
  }

  /** undefined: they are too long. */
  texts(lengthMax: number): readonly string[] | undefined {
    let length = 0;
    const texts: string[] = [];
    for (const members of this.#members) {
      const ascending = Array.from(members.toSorted(), (member) => this.#all[member] as Member);
      const text = setText(ascending);
      length += text.length;
      if (length > lengthMax) return undefined;
      texts.push(text);
    }
    return texts;
  }
}

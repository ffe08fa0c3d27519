/** The words that rows of a file tell of, and how: as members of sets (`row_words.ts`). */

import { textOf } from "../../base/bytes.ts";
import { throwIfLate } from "../../os/task_deadline.ts";
import type { Sequence, Words } from "./collect_words.ts";
import { hashBetween } from "./hash.ts";
import {
  type Member,
  memberOf,
  type RowThings,
  type RowWords,
  rowWords,
  type WrittenThings,
} from "./row_words.ts";
import { scratchInts } from "./scratch.ts";
import { TermTable } from "./term_table.ts";
import {
  isTold,
  isToldAt,
  mayBeTold,
  TOLD_BYTES_MAX,
  type ToldWords,
  writeLetterRuns,
} from "./told_words.ts";

/** The rows of a file, and what is counted of them. */
export interface RowsToTell {
  readonly words: Words & { readonly sequence: Sequence };
  /** Bytes of all texts. */
  readonly textBytes: number;
  /** Words that are counted: their terms. */
  readonly terms: readonly number[];
  /** Pairs that are counted: what stands for each in `things`, and its words. */
  readonly pairs: ReadonlyMap<number, readonly string[]>;
  /** Things of each row, pairs among them, row by row. */
  readonly things: Uint16Array;
  /** Where in `things` each row ends. */
  readonly ends: Uint32Array;
  readonly isNull: (row: number) => boolean;
}

/** The words of each row: all of them, or those alone that are counted, in lower case. */
export interface ToldRows extends RowWords {
  readonly words: ToldWords;
}

/** With a larger share of the bytes of texts all words are hardly less to read than these. */
const ALL_SHARE_MAX = 1 / 16;
/** It is an `s` to regular expressions that ignore case, and to nobody else. */
const LONG_S = "\u017f";

/** undefined: rows have too many sets of words. Errors: `TooMuchToIndex`. */
export function toldRows(told: RowsToTell): ToldRows | undefined {
  const { isNull, textBytes } = told;
  const pairs = pairMembers(told);
  if (pairs === undefined) return undefined;
  const bytesMax = {
    all: Math.min(TOLD_BYTES_MAX, textBytes * ALL_SHARE_MAX),
    counted: TOLD_BYTES_MAX,
  };
  for (const words of ["all", "counted"] as const) {
    const members = new Members(pairs.members.length);
    const limit = bytesMax[words];
    const own = words === "all" ? allWords(told, members, limit) : countedAlone(told, members);
    const rows = own && rowWords(own, pairs.things, {
      members: [...pairs.members, ...members.all],
      isNull,
      lengthMax: limit,
    });
    if (rows !== undefined) return { ...rows, words };
  }
  return undefined;
}

/** undefined: two pairs have the same hash. */
function pairMembers(
  { pairs, things, ends }: RowsToTell,
): { readonly members: readonly Member[]; readonly things: RowThings<Uint16Array> } | undefined {
  const memberByThing: number[] = [];
  const members: Member[] = [];
  for (const [thing, words] of pairs) {
    if (words.every(isTold)) memberByThing[thing] = members.push(memberOf(words));
  }
  if (new Set(members.map(({ text }) => text)).size < members.length) return undefined;
  const memberOfThing = Uint32Array.from(memberByThing, (member) => member ?? 0);
  return { members, things: { things, ends, memberOf: memberOfThing } };
}

const NOTHING = new Uint32Array();
const NONE: WrittenThings["others"] = { places: NOTHING, things: NOTHING, memberOf: NOTHING };

/** undefined: they are too long, or it is not known how all of them are written. */
function allWords(
  { words }: RowsToTell,
  members: Members,
  bytesMax: number,
): WrittenThings | undefined {
  const { table, spellings, sequence: { terms, rowEnds, variants } } = words;
  if (!spellings.areKnown || !variants.isWhole) return undefined;
  const memberOfTerm = scratchInts(table.count);
  for (let term = 0; term < table.count; term += 1) {
    throwIfLate();
    memberOfTerm[term] = members.ofWord(table.bytes, table.startOf(term), table.endOf(term));
    if (members.bytes > bytesMax) return undefined;
  }
  const memberOfVariant = Uint32Array.from(
    spellings.words,
    ({ bytes, start, end }) => members.ofWord(bytes, start, end),
  );
  if (members.all.some(({ text }) => text.includes(LONG_S))) return undefined;
  return {
    ...{ things: terms, ends: rowEnds, memberOf: memberOfTerm },
    others: { places: variants.places, things: variants.variants, memberOf: memberOfVariant },
  };
}

function countedAlone({ words, terms }: RowsToTell, members: Members): WrittenThings {
  const { table, sequence } = words;
  const memberOfTerm = scratchInts(table.count).fill(0);
  for (const term of terms) {
    const [start, end] = [table.startOf(term), table.endOf(term)];
    if (!isToldAt(table.bytes, start, end)) continue;
    memberOfTerm[term] = members.ofWord(table.bytes, start, end);
  }
  return {
    ...{ things: sequence.terms, ends: sequence.rowEnds, memberOf: memberOfTerm, others: NONE },
  };
}

const BAR = 0x7c;

/** Members of sets, each once. */
class Members {
  /** Each behind its delimiter. */
  readonly #table = new TermTable();
  /** Members besides. */
  readonly #others: number;

  constructor(others: number) {
    this.#others = others;
  }

  /** Bytes of all. */
  get bytes(): number {
    return this.#table.length;
  }

  get all(): readonly Member[] {
    const table = this.#table;
    return Array.from({ length: table.count }, (_, member): Member => {
      const [start, end] = [table.startOf(member), table.endOf(member)];
      const delimiter = table.bytes[start] === BAR ? "|" : "~";
      return { delimiter, text: textOf(table.bytes.subarray(start + 1, end)) };
    });
  }

  /** One more than the member for the word at `start` to `end`; 0: there is none. */
  ofWord(bytes: Uint8Array, start: number, end: number): number {
    if (!mayBeTold(bytes, start, end)) return 0;
    const table = this.#table;
    table.reserve(2 * (end - start) + 2);
    const from = table.length;
    let to = from;
    if (isToldAt(bytes, start, end)) {
      table.bytes[to++] = BAR;
      for (let at = start; at < end; at += 1) table.bytes[to++] = bytes[at] as number;
    } else to = writeLetterRuns(bytes, { start, end }, table.bytes, to);
    if (to === from) return 0;
    return this.#others + table.intern(to, hashBetween(table.bytes, from, to)) + 1;
  }
}

/** Rows of a text column by its words, in ranges. */

import { utf8 } from "../../base/bytes.ts";
import { othersTurn } from "../../base/others_turn.ts";
import type { SoonSteps } from "../../base/steps.ts";
import { commonStart, stemOf, wordsOfStem } from "../text/stem.ts";
import type { Granules, WantedTerm } from "../text/word_block.ts";
import type { ReadPart, WordsIndex } from "../text/words_index.ts";
import type { LiteralWords } from "./literal_words.ts";
import {
  countRows,
  intersection,
  NO_ROWS,
  rangesOf,
  rangesOfGranules,
  type RowRanges,
  union,
} from "./row_ranges.ts";

/** undefined: any row. */
export type Found = RowRanges | undefined;

/** Parts of words are looked for among rows that are more than these. */
const FEW_ROWS = 4_096;
/**
 * The words of a stem are looked up one by one where they are no more; all others begin with three
 * letters and more alike.
 */
const FEW_WORDS = 16;

/** A lookup takes some 40 µs where it decompresses a block of words. */
const LOOKUPS_A_TURN = 128;

/** Whether others are served before the lookup of this number: a statement may have thousands. */
export function isOthersTurn(at: number): boolean {
  return at > 0 && at % LOOKUPS_A_TURN === 0;
}

export class WordLookup {
  readonly #index: WordsIndex;
  readonly #read: ReadPart;
  /** Granules of words that were looked up as they are. */
  readonly #granules = new Map<string, Granules>();

  constructor(index: WordsIndex, read: ReadPart) {
    this.#index = index;
    this.#read = read;
  }

  /** Rows with all of these, of which the whole words may be stems. */
  *all({ whole, prefix, part }: LiteralWords, areStems = false): SoonSteps<Found> {
    let found: Found;
    // Long words are mostly the rare ones.
    for (const word of [...new Set(whole)].sort((a, b) => b.length - a.length)) {
      if (isEmpty(found)) break;
      found = both(found, yield* this.#word(word, areStems));
    }
    if (prefix !== undefined && !isEmpty(found)) {
      found = both(found, yield* this.#find({ text: utf8(prefix), isPrefix: true }));
    }
    for (const piece of [prefix, part]) {
      if (piece === undefined || isFew(found)) continue;
      found = both(found, rangesOf(yield* this.#index.findPart(utf8(piece), this.#read)));
    }
    return this.#withDisputed(found);
  }

  /** Rows with any of these, which may be stems. */
  *any(words: readonly string[], areStems = false): SoonSteps<Found> {
    let found: Found = NO_ROWS;
    for (const [at, word] of [...new Set(words)].entries()) {
      if (isOthersTurn(at)) yield othersTurn();
      found = either(found, yield* this.#word(word, areStems));
      if (found === undefined) break;
    }
    return this.#withDisputed(found);
  }

  *#word(word: string, isStem: boolean): SoonSteps<Found> {
    const words = isStem ? wordsOfStem(word) : [word];
    if (words.length > FEW_WORDS) {
      return yield* this.#find({
        text: utf8(commonStart(words)),
        isPrefix: true,
        accepts: (text) => stemOf(text) === word,
      });
    }
    let found: Found = NO_ROWS;
    for (const one of words) {
      found = either(found, yield* this.#find({ text: utf8(one), isPrefix: false }, one));
      if (found === undefined) break;
    }
    return found;
  }

  /** Whether a word, which was looked up, is in `min` granules, or in more than half of them. */
  isFrequent(word: string, min: number): boolean {
    const granules = this.#granules.get(word);
    return granules === "everywhere" || (granules?.length ?? 0) >= min;
  }

  *#find(wanted: WantedTerm, word?: string): SoonSteps<Found> {
    const lists = yield* this.#index.find(wanted, this.#read);
    const [only] = lists ?? [];
    const isSingle = word !== undefined && lists?.length === 1;
    if (isSingle && only !== undefined) this.#granules.set(word, only);
    return lists === undefined ? undefined : this.#rangesOf(lists);
  }

  #rangesOf(lists: readonly Granules[]): Found {
    const { shift, rows } = this.#index;
    const [only] = lists;
    if (lists.length === 1 && only instanceof Uint32Array) {
      return rangesOfGranules(only, { shift, rows });
    }
    const granules = new Set<number>();
    for (const list of lists) {
      if (list === "everywhere") return undefined;
      for (const granule of list) granules.add(granule);
    }
    return rangesOfGranules(Uint32Array.from(granules).sort(), { shift, rows });
  }

  #withDisputed(found: Found): Found {
    const { disputed } = this.#index;
    if (disputed !== "everywhere" && disputed.length === 0) return found;
    return either(found, this.#rangesOf([disputed]));
  }
}

/** Rows that both allow; undefined says nothing, so the other one counts. */
export function both(a: Found, b: Found): Found {
  if (a === undefined) return b;
  return b === undefined ? a : intersection(a, b);
}

/** Rows that one of them allows; undefined, which says nothing, allows all. */
export function either(a: Found, b: Found): Found {
  return a === undefined || b === undefined ? undefined : union(a, b);
}

/** Whether it is known that no row is left. */
export function isEmpty(found: Found): boolean {
  return found?.starts.length === 0;
}

function isFew(found: Found): boolean {
  return found !== undefined && countRows(found) <= FEW_ROWS;
}

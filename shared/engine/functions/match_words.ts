/** The words of a `match_*` call with literal words, and how each is looked for in a text. */

import { OperatingError } from "../../base/errors.ts";
import { memoize } from "../../base/memoize.ts";
import { commonStart, stemOf, wordsOfStem } from "../../derived/text/stem.ts";
import { tokenize } from "../../derived/text/tokenize.ts";
import { STEMS_MAX, WORDS_LENGTH_MAX, WORDS_MAX } from "../limits.ts";
import { patternOfWords } from "./word_pattern.ts";

/** `match_terms` and `match`, `match_any`, `match_phrase`, `match_prefix`. */
export type MatchKind = "all" | "any" | "phrase" | "prefix";

/** One word, or all that have its stem. */
export interface Word {
  /** A part of each of these words; the word itself where it is one. */
  readonly common: string;
  /** A regular expression of just these words. */
  readonly pattern: string;
  readonly isFamily: boolean;
}

/**
 * The words in their order; of `all` and `any` each once. The words of a column with stems are
 * families. The last word of `prefix` is not: it is the beginning of a word as it is written.
 * Errors: `invalid_argument` for more words than are looked for at once; `name` is the function's.
 */
export function wordsOf(
  literal: string,
  { name, kind, isStemmed }: {
    readonly name: string;
    readonly kind: MatchKind;
    readonly isStemmed: boolean;
  },
): Word[] {
  const tokens = tokenize(literal);
  const beginning = kind === "prefix" ? tokens.length - 1 : -1;
  const stems = isStemmed
    ? tokens.map((token, at) => at === beginning ? token : stemOf(token))
    : tokens;
  const isSet = kind === "all" || kind === "any";
  const places = tokens.keys().filter((at) => !isSet || stems.indexOf(stems[at] ?? "") === at);
  const kept = [...places];
  const length = kept.reduce((sum, at) => sum + (tokens[at] ?? "").length, 0);
  if (kept.length > WORDS_MAX || length > WORDS_LENGTH_MAX) {
    throw tooMany(
      `${kept.length} words of ${length} characters`,
      `${name} takes ${WORDS_MAX} words of ${WORDS_LENGTH_MAX} characters together`,
    );
  }
  const words = kept.map((at) => {
    const token = tokens[at] ?? "";
    return isStemmed && at !== beginning ? familyOf(token) : plainWord(token);
  });
  const families = new Set(words.filter(({ isFamily }) => isFamily).map(({ pattern }) => pattern));
  if (families.size <= STEMS_MAX) return words;
  throw tooMany(
    `${families.size} words by their stems`,
    `${name} takes ${STEMS_MAX} of them on a column with the tokenizer stem`,
  );
}

function plainWord(token: string): Word {
  return { common: token, pattern: token, isFamily: false };
}

function familyOf(token: string): Word {
  const words = wordsOfStem(stemOf(token));
  if (words.length === 1) return plainWord(token);
  const common = commonStart(words);
  const ends = words.map((word) => word.slice(common.length));
  return { common, pattern: common + patternOfEnds(ends.join()), isFamily: true };
}

const PATTERNS_KEPT = 64;
/**
 * The pattern of the ends that words of a stem have, with commas between them. Many stems share one
 * pattern, and making it takes up to 50 ms.
 */
const patternOfEnds = memoize(PATTERNS_KEPT, (ends) => patternOfWords(ends.split(",")));

function tooMany(what: string, limit: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot look for ${what} at once: ${limit}; ask for fewer`,
    { reason: "statement_too_large" },
  );
}

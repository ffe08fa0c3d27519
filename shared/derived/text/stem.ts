/**
 * Stems of English words, for columns with the tokenizer `stem`: two words are the same there when
 * their stems are (Porter's algorithm, of the package `stemmer`).
 *
 * A token of 3 to `LETTERS_MAX` letters a–z has a stem; any other token, with a digit, a `_` or a
 * letter of another alphabet, is its own.
 *
 * DuckDB knows no stems. But only so many words have a given stem: each step of the algorithm takes
 * an ending off, or puts another in its place. So going back from a stem there are a few candidates
 * for each step. `wordsOfStem` collects more candidates than there are words and keeps those whose
 * stem it is, so never a word too many. Every step is undone in each way that it can have gone, so
 * none is missing. There are 3,300 at most, of which people use five; they all begin alike.
 */

import { stemmer } from "stemmer";
import { memoize } from "../../base/memoize.ts";

/** The longest English word. A longer run of letters is no word, and its family is of no use. */
const LETTERS_MAX = 40;
const ENGLISH = new RegExp(`^[a-z]{3,${LETTERS_MAX}}$`);
/** Families that are kept: some 300 KB each. */
const KEPT_MAX = 32;

/** The stem of a token of `tokenize.ts`. */
export function stemOf(token: string): string {
  return ENGLISH.test(token) ? stemmer(token) : token;
}

/** All tokens whose stem it is, ascending; none where no word has it. */
export const wordsOfStem: (stem: string) => readonly string[] = memoize(KEPT_MAX, findWords);

/** What all of these, in ascending order, begin with. */
export function commonStart(words: readonly string[]): string {
  const [first = "", last = ""] = [words[0], words.at(-1)];
  let same = 0;
  while (same < first.length && first[same] === last[same]) same += 1;
  return first.slice(0, same);
}

function findWords(stem: string): string[] {
  let candidates = new Set([stem]);
  for (const before of STEPS_BACK) {
    const more = new Set(candidates);
    for (const word of candidates) {
      for (const candidate of before(word)) {
        if (candidate.length <= LETTERS_MAX) more.add(candidate);
      }
    }
    candidates = more;
  }
  return [...candidates].filter((word) => stemOf(word) === stem).sort();
}

/** What a word may have been before a step that changed it. */
type StepBack = (word: string) => readonly string[];

const CONSONANTS = "[^aeiou][^aeiouy]*";
const VOWELS = "[aeiouy][aeiou]*";
/** A consonant behind a vowel, once at least, and twice. */
const ONE_SYLLABLE = new RegExp(`^(?:${CONSONANTS})?${VOWELS}${CONSONANTS}`);
const TWO_SYLLABLES = new RegExp(`^(?:${CONSONANTS})?(?:${VOWELS}${CONSONANTS}){2}`);

/** Endings of the second and third step, and what comes in their place. */
const SECOND: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["bli", "ble"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
  ["logi", "log"],
];
const THIRD: readonly (readonly [string, string])[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];
/** Endings that the fourth step takes off; `ion` only behind s and t. */
const FOURTH = [
  ...["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou"],
  ...["ism", "ate", "iti", "ous", "ive", "ize"],
];

/** The last step of the algorithm comes first. */
const STEPS_BACK: readonly StepBack[] = [
  (word) => word.endsWith("l") ? [`${word}l`] : [],
  (word) => [`${word}e`],
  (word) => {
    if (!has(TWO_SYLLABLES, word)) return [];
    const ion = /[st]$/.test(word) ? ["ion"] : [];
    return [...FOURTH, ...ion].map((ending) => word + ending);
  },
  exchanged(THIRD),
  exchanged(SECOND),
  (word) => word.endsWith("i") ? [`${word.slice(0, -1)}y`] : [],
  (word) => [
    ...(word.endsWith("ee") ? [`${word}d`] : []),
    ...["ed", "ing"].flatMap((ending) => [
      word + ending,
      // Behind which an e was put back, and of whose two consonants one was taken.
      ...(word.endsWith("e") ? [word.slice(0, -1) + ending] : []),
      ...(/[^aeiouylsz]$/.test(word) ? [word + word.slice(-1) + ending] : []),
    ]),
  ],
  (word) => [
    ...(/(?:ss|i)$/.test(word) ? [`${word}es`] : []),
    ...(word.endsWith("s") ? [] : [`${word}s`]),
  ],
];

function exchanged(endings: typeof SECOND): StepBack {
  return (word) =>
    endings.flatMap(([ending, other]) => {
      const start = word.slice(0, word.length - other.length);
      return word.endsWith(other) && has(ONE_SYLLABLE, start) ? [start + ending] : [];
    });
}

/** Whether the word matches as the algorithm sees it: a y at the beginning is no vowel. */
function has(pattern: RegExp, word: string): boolean {
  return pattern.test(word.replace(/^y/, "Y"));
}

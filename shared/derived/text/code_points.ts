/**
 * What each code point is to a tokenizer: the rules of `shared/derived/text/tokenize.ts`, asked of
 * it once per code point and kept by pages of 256.
 *
 * `tokenize` looks at normalized text, this at single code points. Both are the same for a text all
 * of whose code points are *stable*: NFC leaves them as they are, whatever stands beside them. A
 * text with any other goes to `tokenize`.
 *
 * On some code points the runtime and DuckDB, which are of different versions of Unicode, do not
 * agree: these are *disputed*. A row that holds one may match anything, and a query with one gets
 * every row.
 */

import { tokenize } from "./tokenize.ts";

/** Neither a token nor part of one. */
export const SEPARATOR = 0;
/** Part of a run. */
export const LETTER = 1;
/** A token by itself. */
export const ALONE = 2;
/** The bits that hold one of the three above. */
export const KIND = 3;
/** Flag: only `tokenize` knows, because neighbours may change the code point. */
export const UNSTABLE = 4;
/** Flag: DuckDB may see it otherwise. */
export const DISPUTED = 8;

export interface CodePointPage {
  /** Kind and flags of each. */
  readonly classes: Uint8Array;
  /** Each in lower case. */
  readonly folded: Uint32Array;
}

const PAGE_BITS = 8;
const PAGE_SIZE = 1 << PAGE_BITS;
const pages: (CodePointPage | undefined)[] = [];

const MARK = /\p{M}/u;

/**
 * First and last: vowels and final consonants of Hangul, which join the letter before them, and
 * vowels of Kirat Rai.
 */
const JOINING: readonly (readonly [number, number])[] = [
  [0x1161, 0x1175],
  [0x11a8, 0x11c2],
  [0x16d63, 0x16d6a],
];

/** First and last, found by comparing all code points: `code_points_test.ts`. */
const DISPUTED_RANGES: readonly (readonly [number, number])[] = [
  [0x130, 0x130],
  [0x897, 0x897],
  [0x1c89, 0x1c8a],
  [0xa7cb, 0xa7cd],
  [0xa7da, 0xa7dc],
  [0x105c0, 0x105f3],
  [0x10d40, 0x10d65],
  [0x10d69, 0x10d6d],
  [0x10d6f, 0x10d85],
  [0x10ec2, 0x10ec4],
  [0x10efc, 0x10efc],
  [0x11380, 0x113e2],
  [0x116d0, 0x116e3],
  [0x11bc0, 0x11be0],
  [0x11bf0, 0x11bf9],
  [0x11f5a, 0x11f5a],
  [0x13460, 0x143fa],
  [0x16100, 0x16139],
  [0x16d40, 0x16d6c],
  [0x16d70, 0x16d79],
  [0x18cff, 0x18cff],
  [0x1ccf0, 0x1ccf9],
  [0x1e5d0, 0x1e5fa],
  [0x2ebf0, 0x2ee5d],
];

/** The page of `codePoint`, whose place in it is the lowest eight bits. */
export function pageOf(codePoint: number): CodePointPage {
  const number = codePoint >>> PAGE_BITS;
  return pages[number] ??= classify(number);
}

/** Whether some code point of `text` is disputed. */
export function isDisputed(text: string): boolean {
  for (const letter of text) {
    const codePoint = letter.codePointAt(0) ?? 0;
    const classes = pageOf(codePoint).classes[codePoint % PAGE_SIZE] as number;
    if ((classes & DISPUTED) !== 0) return true;
  }
  return false;
}

/** Whether `text` begins, and ends, with a part of a run. */
export function edgesOf(
  text: string,
): { readonly startsInRun: boolean; readonly endsInRun: boolean } {
  return {
    startsInRun: isLetter(text.codePointAt(0)),
    endsInRun: isLetter([...text.slice(-2)].at(-1)?.codePointAt(0)),
  };
}

function isLetter(codePoint: number | undefined): boolean {
  if (codePoint === undefined) return false;
  return ((pageOf(codePoint).classes[codePoint % PAGE_SIZE] as number) & KIND) === LETTER;
}

function classify(number: number): CodePointPage {
  const classes = new Uint8Array(PAGE_SIZE);
  const folded = new Uint32Array(PAGE_SIZE);
  for (let at = 0; at < PAGE_SIZE; at += 1) {
    const codePoint = number * PAGE_SIZE + at;
    const letter = String.fromCodePoint(codePoint);
    const lower = letter.toLowerCase();
    folded[at] = lower.codePointAt(0) ?? codePoint;
    let flags = 0;
    if (!isStable(codePoint, letter) || [...lower].length > 1) flags |= UNSTABLE;
    if (isWithin(DISPUTED_RANGES, codePoint)) flags |= UNSTABLE | DISPUTED;
    classes[at] = kindOf(lower) | flags;
  }
  return { classes, folded };
}

function kindOf(lower: string): number {
  if (tokenize(lower).length === 0) return SEPARATOR;
  return tokenize(lower + lower).length === 1 ? LETTER : ALONE;
}

function isStable(codePoint: number, letter: string): boolean {
  return !MARK.test(letter) && letter.normalize("NFC") === letter && !isWithin(JOINING, codePoint);
}

function isWithin(ranges: readonly (readonly [number, number])[], codePoint: number): boolean {
  return ranges.some(([first, last]) => first <= codePoint && codePoint <= last);
}

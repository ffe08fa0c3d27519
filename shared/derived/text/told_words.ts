/**
 * What the column of the words of each row tells of a word (README.md): the word itself, or the
 * runs of letters in it.
 */

import { textOf } from "../../base/bytes.ts";

/** The words that rows of a file tell of. */
export type ToldWords = "all" | "counted";

/** A smaller file is read in no time: it has no such column. */
export const TOLD_ROWS_MIN = 2_048;
/** More bytes of words are in no column. */
export const TOLD_BYTES_MAX = 512 * 1_024;
/** A longer word is nobody's question: in characters. */
const WORD_LENGTH_MAX = 64;
const DIGIT = /\p{Nd}/u;
const RUN_LENGTH_MIN = 3;
/** Letters of which one is no hexadecimal digit. */
const TELLING = /[g-z]/i;
/** What a run that begins its word stands behind. */
export const RUN_START = "~^";
/** Bytes of ASCII. */
const [NINE, CARET, A, F, Z, TILDE] = [0x39, 0x5e, 0x61, 0x66, 0x7a, 0x7e];

/**
 * Whether rows tell of a word: not of one with a digit. Parts of addresses and ids would give
 * nearly each row a set of its own.
 */
export function isTold(word: string): boolean {
  return word.length <= WORD_LENGTH_MAX && !DIGIT.test(word);
}

/** Whether rows tell of the word at `start` to `end`. */
export function isToldAt(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return isTold(textOf(bytes.subarray(start, end)));
    if (byte <= NINE) return false;
  }
  return end - start <= WORD_LENGTH_MAX;
}

/** Whether something may be told of the word at `start` to `end`: most ids have nothing. */
export function mayBeTold(bytes: Uint8Array, start: number, end: number): boolean {
  let isPlain = end - start <= WORD_LENGTH_MAX;
  let [run, isTelling] = [0, false];
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return true;
    // In lower case, if it is a letter.
    const letter = byte | 0x20;
    if (letter >= A && letter <= Z) {
      run += 1;
      if (letter > F) isTelling = true;
      if (isTelling && run >= RUN_LENGTH_MIN) return true;
      continue;
    }
    [run, isTelling] = [0, false];
    if (byte <= NINE) isPlain = false;
  }
  return isPlain;
}

/**
 * Writes the runs of letters of which rows tell, in the word at `start` to `end`, to `written` from
 * `to` on, and returns where they end. They take up to two more bytes for each run.
 */
export function writeLetterRuns(
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  written: Uint8Array,
  to: number,
): number {
  let out = to;
  for (let at = start; at < end;) {
    const from = at;
    let isTelling = false;
    for (; at < end; at += 1) {
      const letter = (bytes[at] as number) | 0x20;
      if (letter < A || letter > Z) break;
      if (letter > F) isTelling = true;
    }
    if (isTelling && at - from >= RUN_LENGTH_MIN) {
      written[out++] = TILDE;
      if (from === start) written[out++] = CARET;
      for (let run = from; run < at; run += 1) written[out++] = bytes[run] as number;
    }
    at += 1;
  }
  return out;
}

/**
 * Whether rows tell if a text has this in one of its words, and whether one begins with it: letters
 * alone.
 */
export function isToldPart(part: string): boolean {
  return part.length >= RUN_LENGTH_MIN && /^[A-Za-z]+$/.test(part) && TELLING.test(part);
}

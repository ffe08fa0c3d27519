/**
 * What the words of a text must be for the text to contain a literal, letter by letter or in any
 * case.
 *
 * The literal is cut into words. Words in its middle are whole words of the text. Its first may be
 * the end of one, its last the beginning of one, a single one any part of one. That holds for texts
 * in normal form C, whose words follow from one code point after the other. Other texts are
 * disputed (`../text/collect_words.ts`).
 */

import { tokenize } from "../text/tokenize.ts";
import { edgesOf, isDisputed } from "../text/code_points.ts";

export interface LiteralWords {
  readonly whole: readonly string[];
  /** What a word begins with. */
  readonly prefix?: string;
  /** What is a part of a word. */
  readonly part?: string;
}

/** undefined: nothing is known of such a text. */
export function literalWords(literal: string): LiteralWords | undefined {
  if (!isTellable(literal) || literal.normalize("NFC") !== literal) return undefined;
  const words = tokenize(literal);
  const { startsInRun, endsInRun } = edgesOf(literal);
  const part = startsInRun ? words.shift() : undefined;
  const prefix = endsInRun ? words.pop() : undefined;
  return {
    whole: words,
    ...(part === undefined ? {} : { part }),
    ...(prefix === undefined ? {} : { prefix }),
  };
}

/** Whether this runtime and DuckDB cut `text` into the same words. */
export function isTellable(text: string): boolean {
  return text.isWellFormed() && !isDisputed(text);
}

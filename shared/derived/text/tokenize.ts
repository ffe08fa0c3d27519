/**
 * What a word is: for `match_terms`, `match_any`, `match_phrase` and `match_prefix`, and for text
 * indexes.
 *
 * Text is brought to NFC and to lower case, one code point at a time. A token is one Han, Hiragana
 * or Katakana letter, or a run of other letters, digits, marks and `_`. There is no shortest token
 * and no limit to their number.
 *
 * `shared/engine/functions/match.ts` says the same in SQL, and a property test holds the two equal.
 * Where the runtime's Unicode is newer than DuckDB's (letters added since, İ), they may differ. An
 * index may then only be asked for tokens that this file and DuckDB agree on.
 */

const IDEOGRAPH = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu;
const RUN = /[\p{L}\p{N}\p{M}_]+/gu;

/** Tokens of `text`, in order, repeated ones too. */
export function tokenize(text: string): string[] {
  let folded = "";
  for (const letter of text.normalize("NFC")) folded += letter.toLowerCase();
  return cut(folded);
}

/** Tokens of `text` as `tokenize` cuts them, with letters of ASCII as they are written. */
export function writtenTokens(text: string): string[] {
  return cut(lowerBeyondAscii(text.normalize("NFC")));
}

/** A text as it is written, with all but letters of ASCII in lower case. */
export function lowerBeyondAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/gu, (letter) => letter.toLowerCase());
}

/** Whether a text of just these tokens has these. */
export function areKept(tokens: readonly string[]): boolean {
  const again = tokenize(tokens.join(" "));
  return again.length === tokens.length && again.every((token, at) => token === tokens[at]);
}

function cut(folded: string): string[] {
  return folded.replaceAll(IDEOGRAPH, " $& ").match(RUN) ?? [];
}

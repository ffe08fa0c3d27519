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
  return folded.replaceAll(IDEOGRAPH, " $& ").match(RUN) ?? [];
}

/**
 * `match_terms` (also `match`), `match_any`, `match_phrase`, `match_prefix`:
 * docs/api/query.md#functions, by the words of `shared/derived/text/tokenize.ts`.
 *
 * Almost always the words are a literal. Then `match_calls.ts` exchanges the call for what these
 * words need. It builds that from the pieces in the second half of this file: patterns that DuckDB
 * compiles once and that never cut a text into words.
 *
 * The macros here are for words that differ from row to row. There a text becomes its tokens with
 * one space before, between and after them. A phrase is in it when the phrase's own such text is.
 * Cutting is slow, and DuckDB cannot be interrupted within 2048 rows of it, so longer texts are
 * refused. NULL in gives NULL out; a text without a term matches nothing.
 */

import { TEXT_CUT_MAX } from "../limits.ts";

/**
 * Letters of which any text is in NFC: NFC changes none of them, and joins none to the letter
 * before it. They are blocks of the world's larger scripts, without their marks; a test looks at
 * each letter.
 */
export const SURELY_NFC = String.raw`\x{0}-\x{2ff}\x{375}-\x{37d}\x{37f}-\x{386}\x{388}-\x{482}` +
  String.raw`\x{48a}-\x{52f}\x{2002}-\x{20cf}\x{2100}-\x{2125}\x{2127}-\x{2129}\x{212c}-\x{2328}` +
  String
    .raw`\x{232b}-\x{2adb}\x{3000}-\x{3029}\x{3030}-\x{3098}\x{309b}-\x{9fff}\x{ac00}-\x{d7a3}` +
  String.raw`\x{ff00}-\x{ffef}\x{1f000}-\x{1faff}`;

const FOLDED = `CREATE MACRO match_folded(x) AS CASE
  WHEN strlen(x) = length(x) OR NOT regexp_matches(x, '[^${SURELY_NFC}]') THEN lower(x)
  ELSE lower(nfc_normalize(x)) END`;

const IDEOGRAPH = String.raw`([\p{Han}\p{Hiragana}\p{Katakana}])`;
const BETWEEN = String.raw`[^\p{L}\p{N}\p{M}_]+`;

/** Makes ` a b ` of a text, or one space of a text without tokens. */
const SPACED = `CREATE MACRO match_spaced(x) AS
  system.main.regexp_replace(
    ' ' || CASE WHEN strlen(x) = length(x) THEN lower(x) ELSE
      system.main.regexp_replace(match_folded(x), '${IDEOGRAPH}', ' \\1 ', 'g') END || ' ',
    '${BETWEEN}', ' ', 'g')`;

const CUT = `CREATE MACRO match_cut(x) AS match_spaced(CASE WHEN length(x) > ${TEXT_CUT_MAX}
  THEN error('match_terms and its like take texts and words of up to ${TEXT_CUT_MAX} characters ' ||
    'where the words are no literal: write them as one') ELSE x END)`;

const TOKENS = `CREATE MACRO match_tokens(x) AS
  list_filter(string_split(match_cut(x), ' '), lambda token: token <> '')`;

const LONGEST = `CREATE MACRO match_longest(x) AS
  list_reduce(list_prepend('', match_tokens(x)),
    lambda a, b: CASE WHEN strlen(b) > strlen(a) THEN b ELSE a END)`;

/** Whether the text may hold the longest of the terms: each token is a part of the folded text. */
const MAY_HOLD =
  "contains(match_folded(text::VARCHAR), coalesce(match_longest(terms::VARCHAR), ''))";

const macro = (name: string, may: string, holds: string) =>
  `CREATE MACRO ${name}(text, terms) AS CASE
    WHEN text IS NULL OR terms IS NULL THEN NULL
    WHEN match_cut(terms::VARCHAR) = ' ' OR NOT ${may} THEN false
    ELSE ${holds} END`;

const WORDS = "string_split(match_cut(text::VARCHAR), ' ')";
const ALL = `list_has_all(${WORDS}, match_tokens(terms::VARCHAR))`;
const ANY = `list_has_any(${WORDS}, match_tokens(terms::VARCHAR))`;
const PHRASE = "contains(match_cut(text::VARCHAR), match_cut(terms::VARCHAR))";
const PREFIX = "contains(match_cut(text::VARCHAR), rtrim(match_cut(terms::VARCHAR), ' '))";

/**
 * Pieces of a call whose words are known. `loose` holds of each text that may match, `sure` only of
 * texts that do. A text between the two needs its words cut out, and that is rare. In
 * `match_ascii_words` `loose` is exact where the text is ASCII. `ascii` is so elsewhere.
 */
const KNOWN_WORDS: readonly string[] = [
  "CREATE MACRO match_text(x) AS x::VARCHAR",
  "CREATE MACRO match_both(a, b) AS CASE WHEN a THEN b ELSE false END",
  "CREATE MACRO match_either(a, b) AS CASE WHEN a THEN true ELSE b END",
  "CREATE MACRO match_nothing(x) AS CASE WHEN x IS NULL THEN NULL ELSE false END",
  `CREATE MACRO match_ascii_words(x, loose, sure, cut) AS CASE
    WHEN x IS NULL THEN NULL WHEN NOT loose THEN false
    WHEN strlen(x) = length(x) OR sure THEN true ELSE cut END`,
  `CREATE MACRO match_stemmed_words(x, loose, exact) AS CASE
    WHEN x IS NULL THEN NULL WHEN NOT loose THEN false ELSE exact END`,
  // Where a letter beyond ASCII stands, a Z does not begin or end a word, and is in none.
  `CREATE MACRO match_plain(x) AS CASE WHEN strlen(x) = length(x) THEN lower(x) ELSE
    system.main.regexp_replace(match_spaced(x), '[^\\x00-\\x7f]', 'Z', 'g') END`,
  `CREATE MACRO match_other_words(x, ascii, loose, cut) AS CASE
    WHEN x IS NULL THEN NULL WHEN strlen(x) = length(x) THEN ascii WHEN NOT loose THEN false ELSE cut END`,
  "CREATE MACRO match_cut_all(x, words) AS list_has_all(string_split(match_spaced(x), ' '), words)",
  "CREATE MACRO match_cut_any(x, words) AS list_has_any(string_split(match_spaced(x), ' '), words)",
  "CREATE MACRO match_cut_run(x, run) AS contains(match_spaced(x), run)",
  "CREATE MACRO match_apart(x) AS system.main.replace(match_spaced(x), ' ', '  ')",
  // Everything that is found is kept behind the mark: capturing a part of it takes nine times as
  // long.
  "CREATE MACRO match_put(x, words, mark) AS system.main.regexp_replace(x, words, mark || '\\0', 'g')",
];

export const MATCH: readonly string[] = [
  FOLDED,
  SPACED,
  CUT,
  TOKENS,
  LONGEST,
  macro("match_terms", MAY_HOLD, ALL),
  macro("match", MAY_HOLD, ALL),
  macro("match_any", "true", ANY),
  macro("match_phrase", MAY_HOLD, PHRASE),
  macro("match_prefix", MAY_HOLD, PREFIX),
  ...KNOWN_WORDS,
];

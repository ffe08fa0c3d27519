/**
 * `match_terms` (also `match`), `match_any`, `match_phrase`, `match_prefix`: SPEC.md 4.2, by the words of
 * `shared/event/tokenize.ts`.
 *
 * A text becomes its tokens with one space before, between and behind them: a phrase is in it when its own such text
 * is. Most rows never get there: first the folded text must contain the term at all, which a literal term makes as
 * cheap as ILIKE. NULL in gives NULL out; a text without a term matches nothing.
 */

const FOLDED = `CREATE MACRO match_folded(x) AS
  CASE WHEN strlen(x) = length(x) THEN lower(x) ELSE lower(nfc_normalize(x)) END`;

const IDEOGRAPH = String.raw`([\p{Han}\p{Hiragana}\p{Katakana}])`;
const BETWEEN = String.raw`[^\p{L}\p{N}\p{M}_]+`;

/** ` a b `, or one space for a text without tokens. */
const SPACED = `CREATE MACRO match_spaced(x) AS
  system.main.regexp_replace(
    ' ' || CASE WHEN strlen(x) = length(x) THEN lower(x) ELSE
      system.main.regexp_replace(match_folded(x), '${IDEOGRAPH}', ' \\1 ', 'g') END || ' ',
    '${BETWEEN}', ' ', 'g')`;

const TOKENS = `CREATE MACRO match_tokens(x) AS
  list_filter(string_split(match_spaced(x), ' '), lambda token: token <> '')`;

const LONGEST = `CREATE MACRO match_longest(x) AS
  list_reduce(list_prepend('', match_tokens(x)),
    lambda a, b: CASE WHEN strlen(b) > strlen(a) THEN b ELSE a END)`;

/** Whether the text may hold the longest of the terms: each token is a part of the folded text. */
const MAY_HOLD =
  "contains(match_folded(text::VARCHAR), coalesce(match_longest(terms::VARCHAR), ''))";

const macro = (name: string, may: string, holds: string) =>
  `CREATE MACRO ${name}(text, terms) AS CASE
    WHEN text IS NULL OR terms IS NULL THEN NULL
    WHEN match_spaced(terms::VARCHAR) = ' ' OR NOT ${may} THEN false
    ELSE ${holds} END`;

const WORDS = "string_split(match_spaced(text::VARCHAR), ' ')";
const ALL = `list_has_all(${WORDS}, match_tokens(terms::VARCHAR))`;
const ANY = `list_has_any(${WORDS}, match_tokens(terms::VARCHAR))`;
/** More letters of terms than this are too much for one pattern: then each row is cut into words. */
const PATTERN_LENGTH_MAX = 10_000;
const ANY_PATTERN = `CASE WHEN strlen(terms::VARCHAR) <= ${PATTERN_LENGTH_MAX}
  THEN array_to_string(match_tokens(terms::VARCHAR), '|') ELSE '' END`;
const ANY_PART = `regexp_matches(match_folded(text::VARCHAR), ${ANY_PATTERN})`;
const PHRASE = "contains(match_spaced(text::VARCHAR), match_spaced(terms::VARCHAR))";
const PREFIX = "contains(match_spaced(text::VARCHAR), rtrim(match_spaced(terms::VARCHAR), ' '))";

export const MATCH: readonly string[] = [
  FOLDED,
  SPACED,
  TOKENS,
  LONGEST,
  macro("match_terms", MAY_HOLD, ALL),
  macro("match", MAY_HOLD, ALL),
  macro("match_any", ANY_PART, ANY),
  macro("match_phrase", MAY_HOLD, PHRASE),
  macro("match_prefix", MAY_HOLD, PREFIX),
];

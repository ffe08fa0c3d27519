/**
 * Looking for a literal text in any case, at about the price of LIKE. `lower(x) LIKE '%literal%'`
 * makes another text of each row, which takes longer than reading and matching it.
 *
 * RE2, DuckDB's matcher of regular expressions, looks for the letters that an expression begins
 * with by an automaton without branches, also in any case. It does so for letters that have two
 * forms. `s` and `k` have a third one (U+017F, U+212A) for RE2, and `i` (U+0130) and `k` have one
 * for DuckDB's `lower`. So an expression is begun where such letters are not near: what it leaves
 * is few rows, which are looked at with the whole of it.
 */

import { callNode, textNode } from "../statement/tree_nodes.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";

/** Longer literals are not looked for in this way: RE2's tables of their states are large. */
const LITERAL_LENGTH_MAX = 256;
/** RE2's automaton takes so many letters at most. */
const QUICK_LETTERS_MAX = 9;
/** With fewer letters the automaton stops so often that it saves nothing. */
const QUICK_LETTERS_MIN = 3;

/** NULL for NULL. `sieve` holds of each text of which `exact` holds. */
export const FOLDED_TEXT: readonly string[] = [
  "CREATE MACRO sieved(sieve, exact) AS CASE WHEN NOT sieve THEN false ELSE exact END",
];

/** Whether `foldedContains` takes a literal: of ASCII in lower case, not too long. */
export function isFoldable(literal: string): boolean {
  return /^[\0-@[-\x7f]+$/.test(literal) && literal.length <= LITERAL_LENGTH_MAX;
}

/** `contains(lower(text), literal)`, for any text. `text` is written up to twice. */
export function foldedContains(text: TreeNode, literal: string): TreeNode {
  if (!/[a-z]/.test(literal)) return callNode("contains", [text, textNode(literal)]);
  const matches = (part: string) => callNode("regexp_matches", [text, textNode(lowered(part))]);
  const exact = matches(literal);
  const caseless = caselessRun(literal);
  if (caseless !== undefined) {
    return sieved(callNode("contains", [text, textNode(caseless)]), exact);
  }
  const start = quickStart(literal, "isk");
  return start === 0 ? exact : sieved(matches(literal.slice(start)), exact);
}

/** `exact`, which is asked of the texts for which `sieve` holds. */
export function sieved(sieve: TreeNode, exact: TreeNode): TreeNode {
  return callNode("sieved", [sieve, exact]);
}

/**
 * Where a pattern of `literal` in any case is begun: before the most letters that are none of
 * `slow`; 0 where none are enough.
 */
export function quickStart(literal: string, slow: string): number {
  if (quickLetters(literal, slow) >= QUICK_LETTERS_MIN) return 0;
  let [start, most] = [0, 1];
  for (let at = 0; at < literal.length; at += 1) {
    const letters = quickLetters(literal.slice(at), slow);
    if (letters > most) [start, most] = [at, letters];
  }
  return start;
}

/** Letters at the beginning of `text` that RE2's automaton takes. */
export function quickLetters(text: string, slow: string): number {
  const end = [...text].findIndex((letter) => slow.includes(letter));
  return Math.min(end < 0 ? text.length : end, QUICK_LETTERS_MAX);
}

/** A pattern behind `(?i)` of what is `literal` in any case, in texts of ASCII. */
export function asciiPattern(literal: string): string {
  return literal.replaceAll(/[sk]/g, (letter) => `(?-i:[${letter}${letter.toUpperCase()}])`);
}

/**
 * A pattern of just what DuckDB's `lower` makes `literal` of (`search_calls_test.ts` looks at each
 * letter).
 */
function lowered(literal: string): string {
  return "(?i)" + literal.replaceAll(/[^]/g, (letter) => LOWERED[letter] ?? quoted(letter));
}

const LOWERED: Readonly<Record<string, string>> = {
  s: "(?-i:[sS])",
  i: String.raw`(?-i:[iI\x{130}])`,
};

function quoted(letter: string): string {
  if (/[A-Za-z0-9_ ]/.test(letter)) return letter;
  return `\\x{${letter.charCodeAt(0).toString(16)}}`;
}

/** The longest run of what has no case, if it is more than one letter and spaces. */
export function caselessRun(literal: string): string | undefined {
  const runs = literal.match(/[^a-z]+/g) ?? [];
  const [longest = ""] = runs.toSorted((a, b) => b.length - a.length);
  return longest.trim().length > 1 ? longest : undefined;
}

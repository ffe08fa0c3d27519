/**
 * LIKE, ILIKE, SIMILAR TO and GLOB, exchanged where DuckDB's own matcher would go back
 * (`wildcard_pattern.ts`). What replaces them matches in linear time. Patterns that DuckDB matches
 * quickly stay as they are: most do, with the filters that DuckDB makes of them.
 *
 * A pattern that is no constant is looked at when the statement runs. Regular expressions are
 * matched in time linear in text and expression, so the size of the expression is bounded.
 */

import { OperatingError } from "../../base/errors.ts";
import { PATTERN_ROW_MAX, PATTERN_SIZE_MAX } from "../limits.ts";
import {
  nodeAt,
  nodesAt,
  replaceNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { notNode } from "../statement/tree_nodes.ts";
import {
  hasCase,
  isEscape,
  LIKE_CALLS,
  type LikeCall,
  piecesOf,
  REGEX_MATCHES,
} from "./matching_calls.ts";
import { regexSize } from "./regex_size.ts";
import {
  isQuick,
  likePieces,
  likeText,
  ordered,
  type Piece,
  regexText,
  sizeOf,
} from "./wildcard_pattern.ts";

/** Functions whose second argument is a regular expression. */
const REGEXES: ReadonlySet<string> = new Set([
  ...REGEX_MATCHES,
  ...["regexp_replace", "regexp_extract", "regexp_extract_all", "regexp_split_to_array"],
  ...["string_split_regex", "str_split_regex"],
]);

/**
 * Two wildcards for any number of characters, and something behind: there is more to try than
 * places of the text.
 */
const GOES_BACK = "'(?s)%[^%]+%.*[^%]'";
const GLOB_GOES_BACK = String.raw`'(?s)\*[^*]+\*.*[^*]'`;

const long = (name: string, pattern: string) =>
  `bounded_fail('${name} takes a pattern of up to ${PATTERN_ROW_MAX} characters with two or more wildcards where ` +
  `it is no constant, and it has ' || length(${pattern}) || ': write it as a constant, or use contains')`;

const manyWildcards = (name: string) =>
  `bounded_fail('${name} takes a pattern with two or more wildcards as a constant only: write it as one, or use ` +
  "regexp_matches')";

/** Macros for patterns that differ from row to row. */
export const PATTERNS: readonly string[] = [
  String
    .raw`CREATE MACRO pattern_regex(pattern) AS '(?s)' || system.main.replace(system.main.replace(` +
  String.raw`regexp_escape(pattern), '\%', '.*'), '_', '.')`,
  `CREATE MACRO pattern_like(x, pattern) AS CASE
    WHEN NOT regexp_matches(pattern, ${GOES_BACK}) THEN x LIKE pattern
    WHEN length(pattern) > ${PATTERN_ROW_MAX} THEN ${long("LIKE", "pattern")}
    ELSE regexp_full_match(x, pattern_regex(pattern)) END`,
  "CREATE MACRO pattern_ilike(x, pattern) AS pattern_like(lower(x), lower(pattern))",
  "CREATE MACRO pattern_folded(x, pattern) AS lower(x) LIKE lower(pattern)",
  "CREATE MACRO pattern_full(x, regex) AS regexp_full_match(x, regex)",
  "CREATE MACRO pattern_full_folded(x, regex) AS regexp_full_match(lower(x), lower(regex))",
  ...([["like", GOES_BACK], ["ilike", GOES_BACK]] as const).map(([name, goesBack]) =>
    `CREATE MACRO pattern_${name}_escape(x, pattern, mark) AS ${name}_escape(x, CASE
      WHEN regexp_matches(pattern, ${goesBack}) THEN ${manyWildcards(name.toUpperCase())}
      ELSE pattern END, mark)`
  ),
  `CREATE MACRO pattern_glob(x, pattern) AS x GLOB CASE
    WHEN regexp_matches(pattern, ${GLOB_GOES_BACK}) THEN ${manyWildcards("GLOB")} ELSE pattern END`,
  `CREATE MACRO pattern_short(pattern) AS CASE
    WHEN length(pattern) > ${PATTERN_ROW_MAX} OR regexp_matches(pattern, '\\{[0-9,]{2}')
    THEN bounded_fail('a regular expression that is no constant may have ${PATTERN_ROW_MAX} characters and no ' ||
      'repetition of more than 9 times: write it as a constant') ELSE pattern END`,
];

/**
 * Exchanges the calls below `root`. Errors: `invalid_argument` with reason `refused_pattern` for a
 * pattern that is too large to be matched.
 */
export function exchangePatternCalls(root: TreeNode): void {
  for (const node of patternCalls(root)) exchange(node);
}

/** Whether there are any such calls. Errors: those of `exchangePatternCalls`. */
export function hasPatternCalls(root: TreeNode): boolean {
  return patternCalls(root).length > 0;
}

function patternCalls(root: TreeNode): TreeNode[] {
  const found: TreeNode[] = [];
  walk(root, (node) => {
    if (isExchanged(node)) found.push(node);
  });
  return found;
}

function isExchanged(node: TreeNode): boolean {
  if (textAt(node, "class") !== "FUNCTION") return false;
  const name = textAt(node, "function_name").toLowerCase();
  const [text, pattern] = nodesAt(node, "children");
  // `* LIKE 'a%'` chooses columns by their names.
  if (pattern === undefined || textAt(text ?? {}, "class") === "STAR") return false;
  if (REGEXES.has(name)) {
    checkRegex(node, pattern);
    return textOfConstant(pattern) === undefined;
  }
  return Object.hasOwn(LIKE_CALLS, name) && planOf(node) !== undefined;
}

/** What a call becomes. Undefined: it stays. */
interface Exchange {
  readonly name: string;
  readonly pattern?: string;
  readonly drops?: boolean;
  readonly negated: boolean;
}

function exchange(node: TreeNode): void {
  const name = textAt(node, "function_name").toLowerCase();
  if (REGEXES.has(name)) return boundRegex(node);
  const plan = planOf(node);
  const [text, pattern = {}, ...others] = nodesAt(node, "children");
  if (plan === undefined) return;
  const written = plan.pattern === undefined
    ? pattern
    : { ...pattern, value: { ...nodeAt(pattern, "value"), value: plan.pattern } };
  const call = {
    ...node,
    alias: "",
    function_name: plan.name,
    schema: "",
    is_operator: false,
    children: [text, written, ...(plan.drops === true ? [] : others)],
  };
  if (!plan.negated) {
    Object.assign(node, call, { alias: node["alias"] });
    return;
  }
  const { alias, query_location } = node;
  replaceNode(node, { ...notNode(call), alias, query_location });
}

function planOf(node: TreeNode): Exchange | undefined {
  const name = textAt(node, "function_name").toLowerCase();
  const call = LIKE_CALLS[name];
  const [text, pattern, mark] = nodesAt(node, "children");
  if (call === undefined || text === undefined || pattern === undefined) return undefined;
  const { isFolded, syntax } = call;
  const negated = call.negates !== undefined;
  if (isNull(pattern)) return undefined;
  const written = textOfConstant(pattern);
  const escape = syntax === "escape" ? textOfConstant(mark ?? {}) : "";
  if (written === undefined || escape === undefined) {
    const way = isFolded ? "ilike" : syntax === "glob" ? "glob" : "like";
    return { name: `pattern_${way}${syntax === "escape" ? "_escape" : ""}`, negated };
  }
  // DuckDB says itself what is wrong with such an escape.
  if (!isEscape(escape)) return undefined;
  const pieces = piecesOf(call, written, escape);
  if (pieces === undefined) {
    return syntax === "glob" ? unreadGlob(written) : unendedLike(call, written, escape);
  }
  return planOfPieces(call, pieces, { escape, written });
}

function planOfPieces(
  { shown, negates, isFolded, syntax }: LikeCall,
  pieces: readonly Piece[],
  { escape, written }: { readonly escape: string; readonly written: string },
): Exchange | undefined {
  const isPlain = syntax === "like" && !isFolded && !pieces.includes("one");
  if (isPlain || isQuick(pieces)) return undefined;
  // In lower case another letter may have become the escape, or the escape another letter.
  if (isFolded && hasCase(escape)) throw refusedPattern(shown, written, "escape");
  const negated = negates !== undefined;
  const inOrder = ordered(pieces);
  const text = syntax === "glob" && pieces.includes("one") ? undefined : likeText(inOrder);
  const drops = syntax === "escape";
  const isLike = text !== undefined && (isQuick(inOrder) || !inOrder.includes("one"));
  if (isLike) return { name: isFolded ? "pattern_folded" : "~~", pattern: text, drops, negated };
  if (sizeOf(inOrder) > PATTERN_SIZE_MAX) throw refusedPattern(shown, written, "size");
  const bytes = syntax === "glob" && pieces.includes("one");
  return {
    name: isFolded ? "pattern_full_folded" : "pattern_full",
    pattern: bytes ? regexText(inOrder, "\\C").replaceAll(".*", "\\C*") : regexText(inOrder, "."),
    drops,
    negated,
  };
}

/** A GLOB with a set in brackets, or one that matches nothing because it ends in its escape. */
function unreadGlob(written: string): undefined {
  const wildcards = written.replace(/\*+$/, "").match(/\*+/g)?.length ?? 0;
  if (wildcards > 1) throw refusedPattern("GLOB", written, "sets");
  return undefined;
}

/**
 * A LIKE that ends in its escape. DuckDB refuses it when its matcher comes so far. A pattern for
 * which the matcher would have to go back before is refused here.
 */
function unendedLike({ shown }: LikeCall, written: string, escape: string): undefined {
  if (isQuick(likePieces(written.slice(0, -1), escape) ?? [])) return undefined;
  throw refusedPattern(shown, written, "end");
}

/** A pattern that is no constant gets a bound. */
function boundRegex(node: TreeNode): void {
  const [text, pattern = {}, ...others] = nodesAt(node, "children");
  const bounded = {
    ...callLike(node, "pattern_short"),
    children: [pattern],
  };
  node["children"] = [text, bounded, ...others];
}

function callLike(node: TreeNode, name: string): TreeNode {
  return { ...node, alias: "", function_name: name, schema: "", catalog: "", is_operator: false };
}

function checkRegex(node: TreeNode, pattern: TreeNode): void {
  const text = textOfConstant(pattern);
  if (text === undefined) return;
  const size = regexSize(text);
  if (size <= PATTERN_SIZE_MAX) return;
  throw refusedPattern(textAt(node, "function_name"), text, "size", size);
}

const REMEDIES = {
  size:
    `at most ${PATTERN_SIZE_MAX} characters, repetitions counted each time, are matched against a text; ` +
    "shorten it, or look for its parts one by one",
  escape:
    "an escape of ILIKE is no letter where the pattern has several wildcards; write ESCAPE '\\'",
  end: "a pattern does not end in its escape",
  sets: "sets in brackets are matched beside one * only; write regexp_full_match",
} as const;

const SHOWN_MAX = 60;

function refusedPattern(
  name: string,
  pattern: string,
  why: keyof typeof REMEDIES,
  size: number = pattern.length,
): OperatingError {
  const shown = pattern.length > SHOWN_MAX ? `${pattern.slice(0, SHOWN_MAX)}…` : pattern;
  return new OperatingError(
    "invalid_argument",
    `Cannot match ${name} with ${JSON.stringify(shown)}, of size ${size}: ${REMEDIES[why]}`,
    { reason: "refused_pattern" },
  );
}

function isNull(node: TreeNode): boolean {
  return textAt(node, "class") === "CONSTANT" && nodeAt(node, "value")?.["is_null"] === true;
}

/**
 * Searches of a column for constant texts, exchanged for ones that take less time. ILIKE and LIKE
 * of `lower(column)` become matches in any case (`folded_text.ts`). Regular expressions, and
 * patterns that DuckDB matches slowly (with `_`, with an escape, of GLOB), stand behind a search
 * for their literal parts. Answers are the same, NULL for NULL included.
 *
 * What is searched is written several times, so it is a column. In a statement with a collation
 * nothing is exchanged: LIKE and `contains` look at it, and expressions do not.
 */

import { isAscii } from "../../base/ascii.ts";
import { callNode, notNode, textNode } from "../statement/tree_nodes.ts";
import { nodesAt, replaceNode, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { foldedContains, isFoldable, sieved } from "./folded_text.ts";
import { hasCase, LIKE_CALLS, type LikeCall, piecesOf, REGEX_MATCHES } from "./matching_calls.ts";
import { type Alternatives, regexLiterals } from "./regex_literals.ts";
import { containedIn, likeText, type Piece, regexText } from "./wildcard_pattern.ts";

/** Exchanges the calls below `root`. */
export function exchangeSearches(root: TreeNode): void {
  for (const { node, search } of searchesBelow(root)) {
    const { alias, query_location } = node;
    replaceNode(node, { ...search(), alias, query_location });
  }
}

/** Whether there are any such calls. */
export function holdsSearches(root: TreeNode): boolean {
  return searchesBelow(root).length > 0;
}

interface Search {
  readonly node: TreeNode;
  readonly search: () => TreeNode;
}

function searchesBelow(root: TreeNode): Search[] {
  const found: Search[] = [];
  const inLambdas = new Set<TreeNode>();
  let isCollated = false;
  walk(root, (node) => {
    const kind = textAt(node, "class");
    if (kind === "COLLATE") isCollated = true;
    if (kind === "LAMBDA") walk(node, (inner) => void inLambdas.add(inner));
    const call = constantCallOf(node);
    const search = call && searchOf(node, call);
    if (search !== undefined) found.push({ node, search });
  });
  return isCollated ? [] : found.filter(({ node }) => !inLambdas.has(node));
}

/** A call of DuckDB's own, with constant texts behind its first argument. */
export interface ConstantCall {
  /** In lower case. */
  readonly name: string;
  readonly text: TreeNode;
  readonly constants: readonly string[];
}

/** What a node is, if it is such a call with all arguments by their places. */
export function constantCallOf(node: TreeNode): ConstantCall | undefined {
  const isBuiltIn = textAt(node, "class") === "FUNCTION" &&
    ["", "main"].includes(textAt(node, "schema"));
  const children = isBuiltIn ? nodesAt(node, "children") : [];
  const [text, ...others] = children;
  const constants = others.map(textOfConstant).filter((constant) => constant !== undefined);
  const isPlaced = children.every((child) => textAt(child, "alias") === "");
  return text === undefined || !isPlaced || constants.length < others.length
    ? undefined
    : { name: textAt(node, "function_name").toLowerCase(), text, constants };
}

/** What a call becomes. Undefined: it stays. */
function searchOf(
  node: TreeNode,
  { name, text, constants }: ConstantCall,
): (() => TreeNode) | undefined {
  const [pattern, more = "", ...others] = constants;
  if (pattern === undefined || others.length > 0) return undefined;
  if (REGEXES.has(name)) return regexSearch(node, pattern, more);
  const like = Object.hasOwn(LIKES, name) ? LIKES[name] : undefined;
  if (like !== undefined) return likeSearch({ node, text, like }, pattern, more);
  const lowered = loweredColumn(text);
  return name !== "contains" || lowered === undefined || !isFoldable(pattern)
    ? undefined
    : () => foldedContains(lowered, pattern);
}

/** DuckDB's calls, and one of `pattern_calls.ts`. */
const LIKES: Readonly<Record<string, LikeCall>> = {
  ...LIKE_CALLS,
  pattern_folded: { shown: "ILIKE", isFolded: true, syntax: "like" },
};

const REGEXES: ReadonlySet<string> = new Set([...REGEX_MATCHES, "pattern_full"]);

function likeSearch(
  { node, text, like }: {
    readonly node: TreeNode;
    readonly text: TreeNode;
    readonly like: LikeCall;
  },
  pattern: string,
  escape: string,
): (() => TreeNode) | undefined {
  // `pattern_calls.ts` tells of an escape that has a case. DuckDB refuses a longer one.
  const isRead = escape.length <= 1 && !(like.isFolded && hasCase(escape));
  const pieces = isRead ? piecesOf(like, pattern, escape) : undefined;
  const lowered = like.isFolded ? undefined : loweredColumn(text);
  const column = lowered ?? text;
  if (pieces === undefined || !isColumn(column)) return undefined;
  const isByLetter = like.syntax === "glob" && pieces.includes("one");
  const simple = isByLetter ? undefined : likeText(pieces);
  const whole = simple === undefined
    ? { ...node, alias: "", function_name: like.negates ?? node["function_name"] }
    : callNode(like.isFolded ? "pattern_folded" : "~~", [text, textNode(simple)]);
  const search = like.isFolded || lowered !== undefined
    ? foldedSearch({ column, whole, pieces, isFolded: like.isFolded })
    : exactSearch({ column, whole, pieces });
  // LIKE is matched more quickly than ILIKE, GLOB or a LIKE with an escape.
  const isSlow = simple !== undefined && /\*|escape|~~~/.test(textAt(node, "function_name"));
  const found = search ?? (isSlow ? () => whole : undefined);
  return found === undefined || like.negates === undefined ? found : () => notNode(found());
}

/** Literals of a pattern that are looked for before the whole of it. */
const SIEVES_MAX = 2;

/** A LIKE in lower case: of its longest literals, then of all of it. */
function foldedSearch({ column, whole, pieces, isFolded }: {
  readonly column: TreeNode;
  readonly whole: TreeNode;
  readonly pieces: readonly Piece[];
  readonly isFolded: boolean;
}): (() => TreeNode) | undefined {
  // What is lower case beyond ASCII is DuckDB's matter.
  const literals = textsOf(pieces)
    .map((text) => isFolded && isAscii(text) ? text.toLowerCase() : text)
    .filter(isFoldable).toSorted((a, b) => b.length - a.length);
  const [longest] = literals;
  if (longest === undefined) return undefined;
  if (containedIn(pieces) !== undefined) return () => foldedContains(column, longest);
  const sieves = literals.filter((text, at) => at === 0 || text.length >= LITERAL_LENGTH_MIN)
    .slice(0, SIEVES_MAX);
  return () =>
    sieves.reduceRight((exact, text) => sieved(foldedContains(column, text), exact), whole);
}

/** A LIKE or a GLOB with wildcards for a letter, or with wildcards that are letters. */
function exactSearch({ column, whole, pieces }: {
  readonly column: TreeNode;
  readonly whole: TreeNode;
  readonly pieces: readonly Piece[];
}): (() => TreeNode) | undefined {
  if (textAt(whole, "function_name") === "~~" && !pieces.includes("one")) return undefined;
  const texts = textsOf(pieces);
  if (containedIn(pieces) !== undefined) {
    // DuckDB makes `contains` of it, which by itself would also take lists.
    const regex = regexText(texts.map((text) => ({ text })), ".");
    return () => callNode("regexp_matches", [column, textNode(regex)]);
  }
  const sieve = literalsLike(column, texts);
  return sieve && (() => sieved(sieve, whole));
}

function textsOf(pieces: readonly Piece[]): readonly string[] {
  return pieces.flatMap((piece) => typeof piece === "string" ? [] : [piece.text]);
}

/** Shorter literals are in too many texts. */
const LITERAL_LENGTH_MIN = 3;
/** More texts are looked for by an expression as quickly as one by one. */
const ALTERNATIVES_MAX = 4;

/** An expression behind a search for its literal parts. */
function regexSearch(
  node: TreeNode,
  regex: string,
  options: string,
): (() => TreeNode) | undefined {
  const [column] = nodesAt(node, "children");
  const literals = regexLiterals(regex, options);
  if (column === undefined || !isColumn(column) || literals === undefined) return undefined;
  const { parts, ignoreCase, isText } = literals;
  // DuckDB makes a LIKE of a text.
  if (ignoreCase || isText && options === "") return undefined;
  const sieve = literalsLike(column, parts.flatMap((part) => part.length > 1 ? [] : part)) ??
    anyOfParts(column, parts);
  return sieve && (() => sieved(sieve, { ...node, alias: "" }));
}

/** A LIKE for texts in this order. Undefined: they are too short to be worth it. */
function literalsLike(column: TreeNode, literals: readonly string[]): TreeNode | undefined {
  const parts = literals.flatMap((literal) => literal.split(/[%_]+/))
    .filter((part) => part.length > 1);
  const [first = "", ...others] = parts;
  if (!parts.some(({ length }) => length >= LITERAL_LENGTH_MIN)) return undefined;
  const pattern = `%${[rareStart(first), ...others].join("%")}%`;
  return callNode("~~", [column, textNode(pattern)]);
}

function anyOfParts(column: TreeNode, parts: readonly Alternatives[]): TreeNode | undefined {
  const part = parts.find((texts) =>
    texts.length <= ALTERNATIVES_MAX && texts.every(({ length }) => length >= LITERAL_LENGTH_MIN)
  );
  const children = part?.map((text) => callNode("contains", [column, textNode(text)]));
  return children && {
    ...{ class: "CONJUNCTION", type: "CONJUNCTION_OR", alias: "", query_location: 0 },
    children,
  };
}

/** Letters of logs, the most frequent first. LIKE looks for the first letter of a literal. */
const FREQUENT = " etaoinsr0123456789-:.=/lcdumphfg";

/** The literal from its rarest letter on. */
function rareStart(literal: string): string {
  const rarity = (at: number) => FREQUENT.indexOf(literal.charAt(at).toLowerCase()) >>> 0;
  let start = 0;
  for (let at = 1; at + LITERAL_LENGTH_MIN <= literal.length; at += 1) {
    if (rarity(at) > rarity(start)) start = at;
  }
  return literal.slice(start);
}

/** Whether a node is a column. */
export function isColumn(node: TreeNode): boolean {
  return textAt(node, "class") === "COLUMN_REF";
}

/** The column of which this is the lower case. */
export function loweredColumn(node: TreeNode): TreeNode | undefined {
  const [column, ...others] = nodesAt(node, "children");
  const isLowered = textAt(node, "class") === "FUNCTION" && textAt(node, "schema") === "" &&
    ["lcase", "lower"].includes(textAt(node, "function_name").toLowerCase());
  return isLowered && others.length === 0 && column !== undefined && isColumn(column)
    ? column
    : undefined;
}

/**
 * Searches of a column for constant texts, exchanged for ones that take less time. ILIKE and LIKE
 * of `lower(column)` become matches in any case (`folded_text.ts`). Regular expressions stand
 * behind a LIKE of their literal parts. Answers are the same, NULL for NULL included.
 *
 * What is searched is written several times, so it is a column. In a statement with a collation
 * nothing is exchanged: LIKE and `contains` look at it, and expressions do not.
 */

import { callNode, textNode } from "../statement/tree_nodes.ts";
import { nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { foldedContains, isFoldable, sieved } from "./folded_text.ts";
import { regexLiterals } from "./regex_literals.ts";
import { likePieces, type Piece } from "./wildcard_pattern.ts";

/** Exchanges the calls below `root`. */
export function exchangeSearches(root: TreeNode): void {
  for (const { node, search } of searchesBelow(root)) {
    const { alias, query_location } = node;
    const exchanged = search();
    for (const member of Object.keys(node)) delete node[member];
    Object.assign(node, exchanged, { alias, query_location });
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
    if (kind !== "FUNCTION" || !["", "main"].includes(textAt(node, "schema"))) return;
    const search = searchOf(node);
    if (search !== undefined) found.push({ node, search });
  });
  return isCollated ? [] : found.filter(({ node }) => !inLambdas.has(node));
}

/** What a call becomes. Undefined: it stays. */
function searchOf(node: TreeNode): (() => TreeNode) | undefined {
  const [text, constant, ...others] = nodesAt(node, "children");
  if (text === undefined || constant === undefined || others.length > 0) return undefined;
  const written = textOfConstant(constant);
  const isPlaced = [text, constant].every((child) => textAt(child, "alias") === "");
  if (written === undefined || !isPlaced) return undefined;
  const name = textAt(node, "function_name").toLowerCase();
  const lowered = loweredColumn(text);
  if (name === "contains") {
    return lowered === undefined || !isFoldable(written)
      ? undefined
      : () => foldedContains(lowered, written);
  }
  if (REGEXES.has(name)) return isColumn(text) ? regexSearch(node, text, written) : undefined;
  const like = Object.hasOwn(LIKES, name) ? LIKES[name] : undefined;
  const column = like?.isFolded === true ? text : lowered;
  if (like === undefined || column === undefined || !isColumn(column)) return undefined;
  // A pattern of `lower(column)` that is not in lower case matches nothing that is.
  const whole = like.isFolded
    ? callNode("pattern_folded", [column, textNode(written)])
    : { ...node, alias: "", function_name: "~~" };
  const search = foldedSearch({ column, whole, pattern: written, isFolded: like.isFolded });
  const exact = search ?? (name.endsWith("~~*") ? () => whole : undefined);
  return exact === undefined || !like.isNegated ? exact : () => notNode(exact());
}

interface LikeCall {
  /** Text and pattern are compared in lower case. */
  readonly isFolded: boolean;
  readonly isNegated: boolean;
}

/** Names of LIKE and ILIKE: DuckDB's, and one of `pattern_calls.ts`. */
const LIKES: Readonly<Record<string, LikeCall>> = {
  "~~": { isFolded: false, isNegated: false },
  "!~~": { isFolded: false, isNegated: true },
  "~~*": { isFolded: true, isNegated: false },
  "!~~*": { isFolded: true, isNegated: true },
  pattern_folded: { isFolded: true, isNegated: false },
};

const REGEXES: ReadonlySet<string> = new Set([
  ...["regexp_full_match", "regexp_like", "regexp_matches", "~"],
]);

/** A LIKE in lower case: of its longest literal, then of all of it. */
function foldedSearch({ column, whole, pattern, isFolded }: {
  readonly column: TreeNode;
  readonly whole: TreeNode;
  readonly pattern: string;
  readonly isFolded: boolean;
}): (() => TreeNode) | undefined {
  const pieces = likePieces(pattern) ?? [];
  // What is lower case beyond ASCII is DuckDB's matter.
  const literals = pieces.flatMap((piece) => typeof piece === "string" ? [] : [piece.text])
    .map((text) => isFolded && !/[^\0-\x7f]/.test(text) ? text.toLowerCase() : text)
    .filter(isFoldable);
  const [longest] = literals.toSorted((a, b) => b.length - a.length);
  if (longest === undefined) return undefined;
  return () => {
    const found = foldedContains(column, longest);
    return isContained(pieces) ? found : sieved(found, whole);
  };
}

/** Whether a pattern is one literal with anything before and behind it. */
function isContained(pieces: readonly Piece[]): boolean {
  return pieces[0] === "any" && pieces.at(-1) === "any" && !pieces.includes("one") &&
    pieces.filter((piece) => piece !== "any").length === 1;
}

/** Shorter literals are in too many texts. */
const LITERAL_LENGTH_MIN = 3;

/** An expression behind a LIKE of its literal parts. */
function regexSearch(
  node: TreeNode,
  column: TreeNode,
  regex: string,
): (() => TreeNode) | undefined {
  const parts = (regexLiterals(regex) ?? []).flatMap((literal) => literal.split(/[%_]+/))
    .filter((part) => part.length > 1);
  const [first = "", ...others] = parts;
  if (!parts.some(({ length }) => length >= LITERAL_LENGTH_MIN)) return undefined;
  const pattern = `%${[rareStart(first), ...others].join("%")}%`;
  return () => sieved(callNode("~~", [column, textNode(pattern)]), { ...node, alias: "" });
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

function isColumn(node: TreeNode): boolean {
  return textAt(node, "class") === "COLUMN_REF";
}

/** The column of which this is the lower case. */
function loweredColumn(node: TreeNode): TreeNode | undefined {
  const [column, ...others] = nodesAt(node, "children");
  const isLowered = textAt(node, "class") === "FUNCTION" && textAt(node, "schema") === "" &&
    ["lcase", "lower"].includes(textAt(node, "function_name").toLowerCase());
  return isLowered && others.length === 0 && column !== undefined && isColumn(column)
    ? column
    : undefined;
}

function notNode(child: TreeNode): TreeNode {
  return {
    class: "OPERATOR",
    type: "OPERATOR_NOT",
    alias: "",
    query_location: 0,
    children: [child],
  };
}

/** Calls that ask whether a column has one of some texts in it, whatever stands around that. */

import { isAscii } from "../../base/ascii.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";
import { LIKE_CALLS, piecesOf, REGEX_FINDS } from "./matching_calls.ts";
import { type ConstantCall, constantCallOf, isColumn, loweredColumn } from "./search_calls.ts";
import { containedIn } from "./wildcard_pattern.ts";

export interface PartCall {
  readonly column: TreeNode;
  /** Each of ASCII, and in lower case where case does not matter. There is a first. */
  readonly parts: readonly string[];
  /** Whether letters match as they are, or in either case: as ILIKE or regular expressions fold. */
  readonly matching: "exact" | "folded" | "regex folded";
  /** Whether the call asks for texts without them. */
  readonly isNegated: boolean;
}

/** Regular expressions that are nothing but texts of letters. */
const ALTERNATIVES = /^(?<folds>\(\?i\))?(?<texts>[A-Za-z]+(?:\|[A-Za-z]+)*)$/;

/** What a node asks for, if it is such a call of a constant of ASCII. */
export function partCallOf(node: TreeNode): PartCall | undefined {
  const call = constantCallOf(node);
  if (call === undefined) return undefined;
  const found = soughtBy(call);
  const lowered = loweredColumn(call.text);
  const column = lowered ?? (isColumn(call.text) ? call.text : undefined);
  if (found === undefined || column === undefined) return undefined;
  const { parts, matching } = found;
  // DuckDB's lower case of İ is an i, which no expression that ignores case finds in İ itself.
  if (matching === "regex folded" && lowered !== undefined) return undefined;
  if (!parts.every(isAscii)) return undefined;
  const lowerParts = parts.map((part) => part.toLowerCase());
  if (matching !== "exact") return { ...found, column, parts: lowerParts };
  // No text in lower case has a capital.
  const isLower = parts.every((part, at) => part === lowerParts[at]);
  if (lowered === undefined) return { ...found, column };
  return isLower ? { ...found, column, matching: "folded" } : undefined;
}

function soughtBy(
  { name, constants: [text, ...options] }: ConstantCall,
): Omit<PartCall, "column"> | undefined {
  if (text === undefined) return undefined;
  const plain = { matching: "exact", isNegated: false } as const;
  if (REGEX_FINDS.includes(name)) {
    const { folds, texts } = ALTERNATIVES.exec(text)?.groups ?? {};
    const isKnown = options.length === 0 || options.length === 1 && options[0] === "i";
    if (texts === undefined || !isKnown) return undefined;
    const isFolded = folds !== undefined || options.length > 0;
    return { ...plain, parts: texts.split("|"), matching: isFolded ? "regex folded" : "exact" };
  }
  if (options.length > 0) return undefined;
  if (name === "contains") return { ...plain, parts: [text] };
  const like = Object.hasOwn(LIKE_CALLS, name) ? LIKE_CALLS[name] : undefined;
  const pieces = like && piecesOf(like, text, "");
  const part = pieces && containedIn(pieces);
  return like && part !== undefined
    ? {
      parts: [part],
      matching: like.isFolded ? "folded" : "exact",
      isNegated: like.negates !== undefined,
    }
    : undefined;
}

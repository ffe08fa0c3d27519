/**
 * Keeps the doubles of a tree that becomes a text again. DuckDB writes `0.1e0` as `0.1` and `1e3`
 * as `1000.0`, which it then reads as decimals: other types, and other sums. So a text stands for
 * each double in the tree, and its digits with an exponent take the place of that text. What DuckDB
 * reads is then the tree that it was, from which it names columns.
 */

import { doubleConstant, isNode, someNode, type TreeNode } from "./syntax_tree.ts";

/** A document with a text in place of each double. */
export interface MarkedDoubles {
  readonly document: TreeNode;
  /** Returns the text of what `document` stands for, given the text of `document`. */
  readonly restored: (text: string) => string;
}

/** Returns the document with a text for each double; the document itself where there is none. */
export function markDoubles(document: TreeNode): MarkedDoubles {
  if (!hasDouble(document)) return { document, restored: (text) => text };
  const mark = unusedIn(JSON.stringify(document));
  const marked = withMarks(document, mark) as TreeNode;
  const found = new RegExp(`'${mark}([^']*)'`, "g");
  return {
    document: marked,
    restored: (text) =>
      text.replaceAll(
        found,
        (_, digits: string) => /e/i.test(digits) ? digits : `${digits}e0`,
      ),
  };
}

function hasDouble(document: TreeNode): boolean {
  return someNode(document, (node) => doubleConstant(node) !== undefined);
}

function unusedIn(texts: string): string {
  let mark = "double ";
  while (texts.includes(mark)) mark = `a ${mark}`;
  return mark;
}

function withMarks(value: unknown, mark: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withMarks(item, mark));
  if (!isNode(value)) return value;
  const digits = doubleConstant(value);
  if (digits !== undefined) return { ...value, value: textValue(mark + digits) };
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [member, withMarks(inner, mark)]),
  );
}

function textValue(value: string): TreeNode {
  return { type: { id: "VARCHAR", type_info: null }, is_null: false, value };
}

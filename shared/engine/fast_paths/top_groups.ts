/**
 * Whether a statement wants only the most frequent values of a column:
 * `SELECT x, count(*) … GROUP BY x ORDER BY count(*) DESC LIMIT n`. What it computes of each group
 * besides does not matter.
 */

import type { Column } from "../../schema/schema.ts";
import {
  integerConstant,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";

/**
 * How many groups it takes, with OFFSET. Undefined: it may need any. `root` is what the caller
 * wrote, without its time bounds.
 */
export function topGroups(
  root: TreeNode,
  { column, isFiltered }: { readonly column: Column; readonly isFiltered: boolean },
): number | undefined {
  if (isFiltered || nodeAt(root, "having") !== undefined) return undefined;
  const items = nodesAt(root, "select_list");
  const groups = nodesAt(root, "group_expressions");
  const isAll = textAt(root, "aggregate_handling") === "FORCE_AGGREGATES";
  const [group, ...more] = isAll ? items.filter((item) => !isCount(item)) : groups;
  if (group === undefined || more.length > 0) return undefined;
  if (!isColumn(meant(group, items), column)) return undefined;
  const modifiers = nodesAt(root, "modifiers");
  if (modifiers.some((modifier) => textAt(modifier, "type") === "DISTINCT_MODIFIER")) {
    return undefined;
  }
  const order = modifiers.find((modifier) => textAt(modifier, "type") === "ORDER_MODIFIER");
  const [first] = order === undefined ? [] : nodesAt(order, "orders");
  if (first === undefined || textAt(first, "type") !== "DESCENDING") return undefined;
  if (!isCount(meant(nodeAt(first, "expression") ?? {}, items))) return undefined;
  const limit = modifiers.find((modifier) => textAt(modifier, "type") === "LIMIT_MODIFIER");
  return limit === undefined ? undefined : rowsOf(limit);
}

/** Whether the select list is of the column itself and `count(*)`. */
export function hasOnlyCounts(root: TreeNode, column: Column): boolean {
  return nodesAt(root, "select_list").every((item) => isCount(item) || isColumn(item, column));
}

function rowsOf(limit: TreeNode): number | undefined {
  const [rows, offset] = [nodeAt(limit, "limit"), nodeAt(limit, "offset")];
  const [taken, skipped] = [
    rows === undefined ? undefined : wholeNumber(rows),
    offset === undefined ? 0 : wholeNumber(offset),
  ];
  return taken === undefined || skipped === undefined ? undefined : taken + skipped;
}

/**
 * The item of the select list that a place or an alias means, else the expression itself.
 */
function meant(expression: TreeNode, items: readonly TreeNode[]): TreeNode {
  const place = wholeNumber(expression);
  if (place !== undefined) return items[place - 1] ?? expression;
  const names = listAt(expression, "column_names");
  if (textAt(expression, "class") !== "COLUMN_REF" || names.length !== 1) return expression;
  const named = items.filter((item) =>
    textAt(item, "alias").toLowerCase() === String(names[0]).toLowerCase()
  );
  return named.length === 1 ? named[0] as TreeNode : expression;
}

function isColumn(node: TreeNode, { name }: Column): boolean {
  if (textAt(node, "class") !== "COLUMN_REF") return false;
  return String(listAt(node, "column_names").at(-1)).toLowerCase() === name.toLowerCase();
}

function isCount(node: TreeNode): boolean {
  return textAt(node, "class") === "FUNCTION" && nodeAt(node, "filter") === undefined &&
    node["distinct"] !== true && nodesAt(node, "children").length === 0 &&
    ["count_star", "count"].includes(textAt(node, "function_name").toLowerCase());
}

function wholeNumber(node: TreeNode): number | undefined {
  const value = integerConstant(node);
  return value === undefined || value < 0n ? undefined : Number(value);
}

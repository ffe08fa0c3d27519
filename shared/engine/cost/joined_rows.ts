/**
 * Counts the rows that joins make of their sources, for a statement's price. Nobody counts them
 * while it runs, because a product that is consumed at once is no source of anything.
 *
 * `certain` are the rows of products without any condition, of sources that are read whole: each of
 * these rows is made. `possible` also has the rows of joins on anything but an equation. Most of
 * these may be dropped at once, but the join looks at them.
 */

import { rangeCallOf } from "./generated_rows.ts";
import { nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

/** Rows that the joins of a statement make. */
export interface JoinedRows {
  readonly certain: number;
  readonly possible: number;
}

/**
 * Counts the rows of all joins below `root`. `tableRows` gives the rows of a stored table by the
 * name that the statement has for it; undefined for another name.
 */
export function joinedRows(
  root: TreeNode,
  tableRows: (name: string) => number | undefined,
): JoinedRows {
  let certain = 0;
  let possible = 0;
  walk(root, (node) => {
    if (node["type"] !== "SELECT_NODE") return;
    const from = nodeAt(node, "from_table");
    if (from?.["type"] !== "JOIN") return;
    const filter = nodeAt(node, "where_clause");
    if (filter !== undefined && holdsEquation(filter)) return;
    const made = rowsOf(from, tableRows);
    possible += made.pairs;
    if (filter === undefined && made.unconditional && !mayStopEarly(node)) certain += made.pairs;
  });
  return { certain, possible };
}

interface SourceRows {
  readonly rows: number;
  /** Rows of the largest product in it. */
  readonly pairs: number;
  /** Whether all joins below are without a condition. */
  readonly unconditional: boolean;
}

function rowsOf(source: TreeNode, tableRows: (name: string) => number | undefined): SourceRows {
  const leaf = (rows: number | undefined) => ({ rows: rows ?? 1, pairs: 0, unconditional: true });
  const call = rangeCallOf(source);
  if (call !== undefined) return leaf(call.rows);
  if (source["type"] === "BASE_TABLE") return leaf(tableRows(textAt(source, "table_name")));
  if (source["type"] === "SUBQUERY") {
    const inner = nodeAt(nodeAt(source, "subquery") ?? {}, "node") ?? {};
    const from = nodeAt(inner, "from_table");
    return from !== undefined && isWhole(inner) ? rowsOf(from, tableRows) : leaf(1);
  }
  const [left, right] = [nodeAt(source, "left"), nodeAt(source, "right")];
  if (source["type"] !== "JOIN" || left === undefined || right === undefined) return leaf(1);
  const [a, b] = [rowsOf(left, tableRows), rowsOf(right, tableRows)];
  const condition = nodeAt(source, "condition");
  const kind = textAt(source, "ref_type");
  const matched = kind !== "CROSS" && kind !== "REGULAR" ||
    nodesOrTexts(source, "using_columns") > 0 ||
    condition !== undefined && holdsEquation(condition);
  if (matched) {
    return {
      rows: Math.max(a.rows, b.rows),
      pairs: Math.max(a.pairs, b.pairs),
      unconditional: false,
    };
  }
  const free = condition === undefined || !namesColumn(condition);
  const rows = a.rows * b.rows;
  return { rows, pairs: rows, unconditional: free && a.unconditional && b.unconditional };
}

function nodesOrTexts(node: TreeNode, member: string): number {
  const value = node[member];
  return Array.isArray(value) ? value.length : 0;
}

/** Whether a SELECT hands on all rows of its FROM. */
function isWhole(select: TreeNode): boolean {
  return select["type"] === "SELECT_NODE" && nodeAt(select, "where_clause") === undefined &&
    nodeAt(select, "having") === undefined && nodeAt(select, "qualify") === undefined &&
    nodesAt(select, "group_expressions").length === 0 &&
    nodesAt(select, "modifiers").length === 0 &&
    nodesAt(select, "select_list").every((item) =>
      item["class"] === "COLUMN_REF" || item["class"] === "STAR"
    );
}

function mayStopEarly(select: TreeNode): boolean {
  return nodesAt(select, "modifiers").some((modifier) =>
    textAt(modifier, "type").startsWith("LIMIT")
  );
}

/**
 * Whether a condition has an equation between two values that differ by row. Rows are then looked
 * up, not tried one by one.
 */
function holdsEquation(condition: TreeNode): boolean {
  let found = false;
  walk(condition, (node) => {
    if (node["type"] !== "COMPARE_EQUAL") return;
    const [left, right] = [nodeAt(node, "left"), nodeAt(node, "right")];
    if (left !== undefined && right !== undefined && namesColumn(left) && namesColumn(right)) {
      found = true;
    }
  });
  return found;
}

function namesColumn(expression: TreeNode): boolean {
  let found = false;
  walk(expression, (node) => {
    if (node["class"] === "COLUMN_REF") found = true;
  });
  return found;
}

/**
 * Finds queries of the newest or oldest row of each group: `DISTINCT ON (k) … ORDER BY k, timestamp
 * DESC`, and `row_number() OVER (PARTITION BY k ORDER BY timestamp DESC) = 1` of QUALIFY or of the
 * query around. No wanted row is older than the newest time of the group that ended first, which is
 * quickly found. A condition says so then.
 */

import { conjuncts } from "../bounds/time_bounds.ts";
import { isAggregate } from "../fast_paths/weighted_aggregates.ts";
import { columnNames, itemName, lower } from "../statement/scope_walker.ts";
import {
  cloneTree,
  integerConstant,
  listAt,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  writtenKey,
} from "../statement/syntax_tree.ts";
import { callNode, selectNode } from "../statement/tree_nodes.ts";

/** What a query of such rows is given. */
export interface Edge {
  /** Newest or oldest times of the groups. */
  readonly query: TreeNode;
  /** The SELECT whose rows they bound. */
  readonly select: TreeNode;
  /** Its table. */
  readonly item: TreeNode;
  /** `timestamp`, as it is written there. */
  readonly column: TreeNode;
  readonly direction: "newest" | "oldest";
}

/** What groups rows, and in which order they are within a group. */
interface Grouping {
  readonly keys: readonly TreeNode[];
  readonly orders: readonly TreeNode[];
  /** The window that numbers the rows; undefined: there must be none. */
  readonly window?: TreeNode;
}

/** Returns the edge of a SELECT; undefined: it is another query. Pure. */
export function edgeOf(select: TreeNode): Edge | undefined {
  const from = nodeAt(select, "from_table") ?? {};
  if (textAt(from, "type") === "SUBQUERY") return edgeBelow(select, from);
  const distinct = distinctGrouping(select);
  if (distinct !== undefined) {
    return nodeAt(select, "qualify") === undefined ? edgeOver(select, distinct) : undefined;
  }
  const window = firstOfWindow(nodeAt(select, "qualify"));
  return window && edgeOver(select, groupingOf(window));
}

/** `SELECT … FROM (SELECT …, row_number() OVER (…) AS n FROM t) WHERE n = 1` */
function edgeBelow(select: TreeNode, from: TreeNode): Edge | undefined {
  const below = nodeAt(nodeAt(from, "subquery") ?? {}, "node") ?? {};
  const where = nodeAt(select, "where_clause");
  if (where === undefined || listAt(below, "modifiers").length > 0) return undefined;
  if (nodeAt(below, "qualify") !== undefined || nodeAt(from, "sample") !== undefined) return;
  if (listAt(from, "column_name_alias").length > 0) return undefined;
  for (const conjunct of conjuncts(where)) {
    const name = columnNames(wantedFirst(conjunct) ?? {}).at(-1);
    const numbered = nodesAt(below, "select_list").find((item) =>
      isRowNumber(item) && name !== undefined && itemName(item) === name
    );
    if (numbered !== undefined) return edgeOver(below, groupingOf(numbered));
  }
  return undefined;
}

function edgeOver(select: TreeNode, { keys, orders, window }: Grouping): Edge | undefined {
  const item = nodeAt(select, "from_table") ?? {};
  const order = orders.find((one) =>
    !keys.some((key) => writtenKey(key) === writtenKey(nodeAt(one, "expression") ?? {}))
  );
  const column = order && nodeAt(order, "expression");
  if (order === undefined || column === undefined) return undefined;
  if (columnNames(column).at(-1) !== "timestamp" || !isPlain(select, item, window)) {
    return undefined;
  }
  if (renames(select, [column, ...keys])) return undefined;
  const isNewest = textAt(order, "type") === "DESCENDING";
  const time = callNode(isNewest ? "max" : "min", [cloneTree(column)]);
  const query = selectNode([time], item, {
    where_clause: select["where_clause"],
    group_expressions: keys.map(cloneTree),
    group_sets: keys.length === 0 ? [] : [keys.map((_, at) => at)],
  });
  return { query, select, item, column, direction: isNewest ? "newest" : "oldest" };
}

/** Whether a SELECT has the rows of one table that WHERE leaves, and numbers them at most. */
function isPlain(select: TreeNode, item: TreeNode, window: TreeNode | undefined): boolean {
  const isOther = (node: TreeNode) =>
    (textAt(node, "class") === "WINDOW" && node !== window) ||
    (textAt(node, "class") === "FUNCTION" && isAggregate(node));
  return textAt(select, "type") === "SELECT_NODE" && textAt(item, "type") === "BASE_TABLE" &&
    listAt(item, "column_name_alias").length === 0 &&
    [select, item].every((node) => nodeAt(node, "sample") === undefined) &&
    nodeAt(select, "having") === undefined && listAt(select, "group_expressions").length === 0 &&
    textAt(select, "aggregate_handling") === "STANDARD_HANDLING" &&
    !["select_list", "modifiers", "qualify"].some((member) => someNode(select[member], isOther));
}

/** Whether an item of the SELECT has the name of a column that one of `nodes` means. */
function renames(select: TreeNode, nodes: readonly TreeNode[]): boolean {
  const names = new Set<string>();
  for (const node of nodes) {
    someNode(node, (one) => {
      for (const name of columnNames(one)) names.add(name);
      return false;
    });
  }
  return nodesAt(select, "select_list").some((item) => names.has(lower(textAt(item, "alias"))));
}

function distinctGrouping(select: TreeNode): Grouping | undefined {
  const modifiers = nodesAt(select, "modifiers");
  const distinct = modifiers.find((one) => textAt(one, "type") === "DISTINCT_MODIFIER") ?? {};
  const keys = nodesAt(distinct, "distinct_on_targets");
  const order = modifiers.find((one) => textAt(one, "type") === "ORDER_MODIFIER") ?? {};
  return keys.length === 0 || !keys.every(isOfColumns)
    ? undefined
    : { keys, orders: nodesAt(order, "orders") };
}

function groupingOf(window: TreeNode): Grouping {
  return { keys: nodesAt(window, "partitions"), orders: nodesAt(window, "orders"), window };
}

/** A number stands for an item of the SELECT. */
function isOfColumns(key: TreeNode): boolean {
  return someNode(key, (node) => textAt(node, "class") === "COLUMN_REF");
}

/** The window that a condition wants the first row of. */
function firstOfWindow(condition: TreeNode | undefined): TreeNode | undefined {
  const wanted = condition && wantedFirst(condition);
  return wanted !== undefined && isRowNumber(wanted) ? wanted : undefined;
}

/** What is to be 1, in `x = 1` and `x <= 1`. */
function wantedFirst(condition: TreeNode): TreeNode | undefined {
  const type = textAt(condition, "type");
  const right = nodeAt(condition, "right");
  const isOne = right !== undefined && integerConstant(right) === 1n;
  return isOne && (type === "COMPARE_EQUAL" || type === "COMPARE_LESSTHANOREQUALTO")
    ? nodeAt(condition, "left")
    : undefined;
}

function isRowNumber(node: TreeNode): boolean {
  return textAt(node, "class") === "WINDOW" && textAt(node, "type") === "WINDOW_ROW_NUMBER" &&
    nodeAt(node, "filter_expr") === undefined;
}

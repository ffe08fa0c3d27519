/** Puts what a subquery gave into the statement's tree, as constants. */

import { lower } from "../statement/scope_walker.ts";
import { cloneTree, nodeAt, replaceNode, type TreeNode } from "../statement/syntax_tree.ts";
import {
  callNode,
  castNode,
  compareNode,
  conjunctionNode,
  constantNode,
  listCastNode,
  selectNode,
  textNode,
} from "../statement/tree_nodes.ts";
import type { EqualColumn, FoundEdge, FoundRows, FoundSubquery } from "./find_subqueries.ts";
import type { FoundColumn } from "./found_columns.ts";

/** Changes the tree. `columns`: those of the query, which has at most one row for a value. */
export function replaceSubquery(found: FoundSubquery, columns: readonly FoundColumn[]): void {
  const [first] = columns;
  if (first === undefined) return;
  switch (found.place) {
    case "value":
      return replace(found.node, castNode(constantOf(first.values[0] ?? null), first.type));
    case "list":
      return replace(found.node, listNode(found.compared, first.values));
    case "edge":
      return addEdge(found, first);
    case "joined":
      return addCondition(found.equal, first);
    case "rows":
      for (const equal of found.equal) addCondition(equal, columnOf(found, equal, columns));
      return replace(found.node, rowsNode(columns));
  }
}

function replace(node: TreeNode, by: TreeNode): void {
  const { alias, query_location } = node;
  replaceNode(node, alias === undefined ? by : { ...by, alias, query_location });
}

/** `compared IN (values)`. Without rows, IN is false of NULL as well. */
function listNode(compared: TreeNode, values: FoundColumn["values"]): TreeNode {
  const distinct = [...new Set(values)];
  if (distinct.length === 0) return castNode(textNode("false"), "BOOLEAN");
  return {
    class: "OPERATOR",
    type: "COMPARE_IN",
    alias: "",
    query_location: 0,
    children: [compared, ...distinct.map(constantOf)],
  };
}

/** What is equal to a column has one of its values. It stays in the condition of the join. */
function addCondition(
  { select, compared }: Omit<EqualColumn, "column">,
  column: FoundColumn | undefined,
): void {
  if (column?.type !== "VARCHAR") return;
  const values = column.values.filter((value) => value !== null);
  addConjunct(select, listNode(cloneTree(compared), values));
}

/** No row before the newest time of the group that ended first is wanted. */
function addEdge({ select, column, direction }: FoundEdge, { type, values }: FoundColumn): void {
  // Times of four digits a year are in the order of their texts.
  const times = values.filter((value) => value !== null).toSorted();
  const time = direction === "newest" ? times[0] : times.at(-1);
  if (time === undefined) return;
  const comparison = `COMPARE_${direction === "newest" ? "GREATER" : "LESS"}THANOREQUALTO`;
  addConjunct(select, compareNode(comparison, cloneTree(column), castNode(textNode(time), type)));
}

function addConjunct(select: TreeNode, conjunct: TreeNode): void {
  const where = nodeAt(select, "where_clause");
  select["where_clause"] = conjunctionNode(where === undefined ? [conjunct] : [where, conjunct]);
}

function columnOf(
  { aliases }: FoundRows,
  { column }: EqualColumn,
  columns: readonly FoundColumn[],
): FoundColumn | undefined {
  return columns.find(({ name }, at) => (aliases[at] ?? lower(name)) === column);
}

/** `SELECT unnest(…) AS a, unnest(…) AS b`, which gives no row for empty lists. */
function rowsNode(columns: readonly FoundColumn[]): TreeNode {
  return selectNode(columns.map(({ name, type, values }) => {
    const list = listCastNode(values.map(constantOf), { id: type, type_info: null });
    return { ...callNode("unnest", [list]), alias: name };
  }));
}

function constantOf(value: string | null): TreeNode {
  return value === null ? constantNode("NULL", null) : textNode(value);
}

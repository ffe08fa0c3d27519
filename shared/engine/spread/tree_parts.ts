/** Pieces of syntax trees that the two halves are made of, equal to those of DuckDB's parser. */

import { columnNode } from "../statement/tree_nodes.ts";
import { cloneTree, isNode, listAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { TreeValue } from "../statement/syntax_tree.ts";
import { PARTS_TABLE } from "./types.ts";

/** A query in FROM. `columns` rename its columns. */
export function subqueryNode(
  query: TreeNode,
  alias: string,
  columns: readonly string[] = [],
): TreeNode {
  return {
    type: "SUBQUERY",
    alias,
    sample: null,
    query_location: 0,
    subquery: { node: query, named_param_map: [] },
    column_name_alias: [...columns],
  };
}

/** The relation with the rows of all shards. */
export function partsNode(): TreeNode {
  return {
    type: "BASE_TABLE",
    alias: "",
    sample: null,
    query_location: 0,
    schema_name: "",
    table_name: PARTS_TABLE,
    column_name_alias: [],
    catalog_name: "",
    at_clause: null,
  };
}

/** A column of the rows of all shards. */
export function partNode(name: string): TreeNode {
  return columnNode(PARTS_TABLE, name);
}

export function starNode(): TreeNode {
  return {
    class: "STAR",
    type: "STAR",
    alias: "",
    query_location: 0,
    relation_name: "",
    exclude_list: [],
    replace_list: [],
    columns: false,
    expr: null,
    qualified_exclude_list: [],
    rename_list: [],
  };
}

/** GROUPING(…): which of the arguments a row is not grouped by, as bits. */
export function groupingNode(children: readonly TreeNode[]): TreeNode {
  return {
    class: "OPERATOR",
    type: "GROUPING_FUNCTION",
    alias: "",
    query_location: 0,
    children: [...children],
  };
}

/** `sum(value) OVER (PARTITION BY …)` */
export function sumOverNode(value: TreeNode, partitions: readonly TreeNode[]): TreeNode {
  return {
    class: "WINDOW",
    type: "WINDOW_AGGREGATE",
    alias: "",
    query_location: 0,
    function_name: "sum",
    schema: "",
    catalog: "",
    children: [value],
    partitions: [...partitions],
    orders: [],
    start: "UNBOUNDED_PRECEDING",
    end: "CURRENT_ROW_RANGE",
    start_expr: null,
    end_expr: null,
    offset_expr: null,
    default_expr: null,
    ignore_nulls: false,
    filter_expr: null,
    exclude_clause: "NO_OTHER",
    distinct: false,
    arg_orders: [],
  };
}

export function named(node: TreeNode, alias: string): TreeNode {
  return { ...node, alias };
}

/** `visit` gives what stands for a node; undefined: a copy, its members mapped in turn. */
export function mapTree(
  node: TreeNode,
  visit: (node: TreeNode) => TreeNode | undefined,
): TreeNode {
  const known = visit(node);
  if (known !== undefined) return known;
  const mapped: TreeNode = {};
  for (const member in node) mapped[member] = mapValue(node[member], visit);
  return mapped;
}

function mapValue(
  value: TreeValue,
  visit: (node: TreeNode) => TreeNode | undefined,
): TreeValue {
  if (Array.isArray(value)) return value.map((item) => mapValue(item, visit));
  return isNode(value) ? mapTree(value, visit) : value;
}

/** Whether a node is an expression of this class. */
export function isClass(node: TreeNode, name: string): boolean {
  return textAt(node, "class") === name;
}

/** Names of a column reference. */
export function namesOf(node: TreeNode): readonly string[] {
  return listAt(node, "column_names").map(String);
}

/** A copy without the name that it may have. */
export function unnamed(node: TreeNode): TreeNode {
  return { ...cloneTree(node), alias: "" };
}

/** Pieces of a syntax tree, equal to those that DuckDB's parser makes. */

import type { TreeNode, TreeValue } from "./syntax_tree.ts";

/** A column, perhaps with its table's name before its own. */
export function columnNode(...names: readonly string[]): TreeNode {
  return {
    class: "COLUMN_REF",
    type: "COLUMN_REF",
    alias: "",
    query_location: 0,
    column_names: [...names],
  };
}

/** A constant of type INTEGER. */
export function integerNode(value: number): TreeNode {
  return constantNode("INTEGER", value);
}

/** A constant of type VARCHAR. */
export function textNode(value: string): TreeNode {
  return constantNode("VARCHAR", value);
}

/** A constant of a type that needs no more than its name. */
export function constantNode(type: string, value: string | number | boolean | null): TreeNode {
  return {
    class: "CONSTANT",
    type: "VALUE_CONSTANT",
    alias: "",
    query_location: 0,
    value: {
      type: { id: type, type_info: null },
      is_null: value === null,
      ...value === null ? {} : { value },
    },
  };
}

/** A call. `like` gives what it has beyond name and arguments, such as a FILTER. */
export function callNode(
  name: string,
  children: readonly TreeNode[],
  like: Pick<TreeNode, "filter"> = { filter: null },
): TreeNode {
  return {
    class: "FUNCTION",
    type: "FUNCTION",
    alias: "",
    query_location: 0,
    function_name: name,
    schema: "",
    catalog: "",
    children: [...children],
    filter: like["filter"],
    order_bys: { type: "ORDER_MODIFIER", orders: [] },
    distinct: false,
    is_operator: false,
    export_state: false,
  };
}

export function castNode(child: TreeNode, type: string): TreeNode {
  return typedCastNode(child, { id: type, type_info: null }, false);
}

/** A cast to a type as the parser has it; a cast that is tried gives NULL where it would fail. */
export function typedCastNode(child: TreeNode, type: TreeValue, isTried: boolean): TreeNode {
  return {
    class: "CAST",
    type: "OPERATOR_CAST",
    alias: "",
    query_location: 0,
    child,
    cast_type: type,
    try_cast: isTried,
  };
}

/** A list of values, cast to one of items of a type. `items` null: NULL. */
export function listCastNode(items: readonly TreeNode[] | null, type: TreeNode): TreeNode {
  const info = { type: "LIST_TYPE_INFO", alias: "", extension_info: null, child_type: type };
  const list = items === null ? constantNode("NULL", null) : callNode("list_value", items);
  return typedCastNode(list, { id: "LIST", type_info: info }, false);
}

/** `type`: DuckDB's word for the comparison. */
export function compareNode(type: string, left: TreeNode, right: TreeNode): TreeNode {
  return { class: "COMPARISON", type, alias: "", query_location: 0, left, right };
}

export function coalesceNode(children: readonly TreeNode[]): TreeNode {
  return {
    class: "OPERATOR",
    type: "OPERATOR_COALESCE",
    alias: "",
    query_location: 0,
    children: [...children],
  };
}

export function notNode(child: TreeNode): TreeNode {
  return {
    class: "OPERATOR",
    type: "OPERATOR_NOT",
    alias: "",
    query_location: 0,
    children: [child],
  };
}

/** `CASE WHEN value IS NOT NULL THEN then END` */
export function ifPresentNode(value: TreeNode, then: TreeNode): TreeNode {
  return {
    class: "CASE",
    type: "CASE_EXPR",
    alias: "",
    query_location: 0,
    case_checks: [{
      when_expr: {
        class: "OPERATOR",
        type: "OPERATOR_IS_NOT_NULL",
        alias: "",
        query_location: 0,
        children: [value],
      },
      then_expr: then,
    }],
    else_expr: constantNode("NULL", null),
  };
}

/** A sum of weights with the result of `count`: 0 for no rows, and a BIGINT. */
export function countNode(sum: TreeNode): TreeNode {
  return castNode(coalesceNode([sum, integerNode(0)]), "BIGINT");
}

/** AND of all conditions. null for none. */
export function conjunctionNode(children: readonly TreeNode[]): TreeNode | null {
  const [first, ...more] = children;
  if (first === undefined) return null;
  if (more.length === 0) return first;
  return {
    class: "CONJUNCTION",
    type: "CONJUNCTION_AND",
    alias: "",
    query_location: 0,
    children: [...children],
  };
}

/** Stands in FROM where a query reads nothing. */
const NO_TABLE: TreeNode = { type: "EMPTY", alias: "", sample: null, query_location: 0 };

/** A SELECT of these items and nothing else. `clauses` replace what it has not. */
export function selectNode(
  items: readonly TreeNode[],
  from: TreeNode = NO_TABLE,
  clauses: TreeNode = {},
): TreeNode {
  return {
    type: "SELECT_NODE",
    modifiers: [],
    cte_map: { map: [] },
    select_list: [...items],
    from_table: from,
    where_clause: null,
    group_expressions: [],
    group_sets: [],
    aggregate_handling: "STANDARD_HANDLING",
    having: null,
    sample: null,
    qualify: null,
    ...clauses,
  };
}

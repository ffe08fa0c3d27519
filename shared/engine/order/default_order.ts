/**
 * The implicit newest-first order of docs/api/query.md#default-order: a bare SELECT over one
 * eligible table is ordered by `timestamp` descending. Anything explicit (ORDER BY, GROUP BY,
 * aggregate, CTE, join, DISTINCT) runs as written. The order is decided and applied on the tree.
 */

import { AGGREGATE_FUNCTIONS } from "../gate/allowed_functions.ts";
import type { TablePlan } from "../plan/plan.ts";
import type { QueryRequest } from "../types.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

/**
 * Adds the order, and a limit of `rowsMax` + 1 where the statement has none, so that truncation
 * shows. Returns whether it did. `table` is the one in its FROM; undefined: it is no stored one.
 */
export function applyDefaultOrder(
  root: TreeNode,
  { table: stored, rowsMax }: {
    readonly table: TablePlan | undefined;
    readonly rowsMax: number;
  },
): boolean {
  if (stored === undefined || !isEligible(stored) || !isBareSelect(root)) return false;
  root["modifiers"] = defaultModifiers(root, rowsMax);
  return true;
}

/** Whether the default order is asked for a SELECT to which it can apply. */
export function wantsDefaultOrder(
  root: TreeNode,
  { defaultOrder }: Pick<QueryRequest, "defaultOrder">,
): boolean {
  return defaultOrder === "limited" ? nodesAt(root, "modifiers").length > 0 : defaultOrder;
}

/** The modifiers of a bare SELECT with the default order: newest first, and a limit. */
export function defaultModifiers(root: TreeNode, rowsMax: number): readonly TreeNode[] {
  const table = nodeAt(root, "from_table") ?? {};
  const qualifier = textAt(table, "alias") || textAt(table, "table_name");
  const order = {
    type: "ORDER_MODIFIER",
    orders: [{
      type: "DESCENDING",
      null_order: "ORDER_DEFAULT",
      // Qualified, so that a select-list alias called timestamp is not meant.
      expression: columnRef([qualifier, "timestamp"]),
    }],
  };
  const limits = nodesAt(root, "modifiers");
  return [order, ...(limits.length > 0 ? limits : [limitModifier(rowsMax + 1)])];
}

/** Whether the table's time is its column `timestamp`. */
export function isEligible({ order, schema }: Pick<TablePlan, "order" | "schema">): boolean {
  return order.isImplicit &&
    schema.columns.some(({ name, type }) => name === "timestamp" && type === "timestamptz");
}

/**
 * Whether a query is one SELECT over one table with nothing but columns, WHERE and a plain LIMIT.
 */
export function isBareSelect(root: TreeNode): boolean {
  if (textAt(root, "type") !== "SELECT_NODE") return false;
  if (nodesAt(nodeAt(root, "cte_map") ?? {}, "map").length > 0) return false;
  const table = nodeAt(root, "from_table");
  if (table === undefined || textAt(table, "type") !== "BASE_TABLE") return false;
  if (listAt(table, "column_name_alias").length > 0 || nodeAt(table, "sample") !== undefined) {
    return false;
  }
  if (listAt(root, "group_expressions").length > 0 || listAt(root, "group_sets").length > 0) {
    return false;
  }
  if (textAt(root, "aggregate_handling") !== "STANDARD_HANDLING") return false;
  if (nodeAt(root, "having") !== undefined || nodeAt(root, "sample") !== undefined) return false;
  const modifiers = nodesAt(root, "modifiers");
  if (modifiers.some((modifier) => textAt(modifier, "type") !== "LIMIT_MODIFIER")) return false;
  return !hasAggregate(root["select_list"]);
}

/** Whether an aggregate is called outside a subquery. */
function hasAggregate(selectList: unknown): boolean {
  let found = false;
  walk(selectList, (node) => {
    if (textAt(node, "class") === "SUBQUERY") return false;
    if (textAt(node, "class") === "FUNCTION") {
      found ||= AGGREGATE_FUNCTIONS.has(textAt(node, "function_name").toLowerCase());
    }
    return true;
  });
  return found;
}

function columnRef(names: readonly string[]): TreeNode {
  return {
    class: "COLUMN_REF",
    type: "COLUMN_REF",
    alias: "",
    query_location: NO_LOCATION,
    column_names: [...names],
  };
}

function limitModifier(limit: number): TreeNode {
  return {
    type: "LIMIT_MODIFIER",
    limit: {
      class: "CONSTANT",
      type: "VALUE_CONSTANT",
      alias: "",
      query_location: NO_LOCATION,
      value: { type: { id: "BIGINT", type_info: null }, is_null: false, value: limit },
    },
    offset: null,
  };
}

/** The tree has no "nowhere": zero stands for the start of the text. */
const NO_LOCATION = 0;

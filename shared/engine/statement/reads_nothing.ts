/** Tells which statements make their one row of nothing. */

import { nodeAt, nodesAt, textAt, type TreeNode, walk } from "./syntax_tree.ts";

/**
 * Whether a statement is `SELECT 1` or its like: no table, no rows made of nothing, no other
 * SELECT.
 */
export function readsNothing(root: TreeNode): boolean {
  if (textAt(nodeAt(root, "from_table") ?? {}, "type") !== "EMPTY") return false;
  if (nodesAt(nodeAt(root, "cte_map") ?? {}, "map").length > 0) return false;
  let found = false;
  walk(root, (node) => {
    const name = textAt(node, "function_name").toLowerCase();
    found ||= textAt(node, "class") === "SUBQUERY" || name === "unnest" || name === "range" ||
      name === "generate_series";
  });
  return !found;
}

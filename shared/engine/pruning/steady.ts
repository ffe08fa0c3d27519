/**
 * Whether a condition holds of a row both now and in a moment, so that a statement may be asked in
 * two steps.
 */

import { isNode, nodeAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import { conjuncts, onlyTimeBounds } from "../bounds/time_bounds.ts";

/** Functions whose value differs from call to call, or from moment to moment. */
const UNSTEADY: ReadonlySet<string> = new Set([
  ...["age", "ago", "current_date", "current_localtime", "current_localtimestamp"],
  ...["current_time", "current_timestamp", "gen_random_uuid", "get_current_time"],
  ...["get_current_timestamp", "now", "random", "today", "transaction_timestamp"],
  ...["uuid", "uuidv4", "uuidv7"],
]);

/** Texts that DuckDB reads from the clock where a time is wanted. */
const CLOCK_TEXT = /^\s*(now|today|tomorrow|yesterday)\s*$/i;

/**
 * Whether the rows of `table`, the only one in FROM, that satisfy `where` are the same now and in a
 * moment. A lower bound made from the clock may rise meanwhile where the newest rows are wanted:
 * what it drops then is older than all that it keeps.
 */
export function isSteady(
  where: TreeNode,
  table: TreeNode,
  { clockLower }: { readonly clockLower: boolean },
): boolean {
  return conjuncts(where).every((conjunct) =>
    onlyTimeBounds(conjunct, table, { clockLower }) || isSteadyExpression(conjunct)
  );
}

function isSteadyExpression(expression: TreeNode): boolean {
  let steady = true;
  walk(expression, (node) => {
    const kind = textAt(node, "class");
    if (kind === "SUBQUERY" || kind === "WINDOW") steady = false;
    if (kind === "FUNCTION" && UNSTEADY.has(textAt(node, "function_name").toLowerCase())) {
      steady = false;
    }
    if (kind === "CONSTANT" && CLOCK_TEXT.test(constantText(node))) steady = false;
    // Some of these functions are written without a call.
    if (kind === "COLUMN_REF" && UNSTEADY.has(String(lastName(node)).toLowerCase())) steady = false;
  });
  return steady;
}

function constantText(node: TreeNode): string {
  const value = nodeAt(node, "value");
  return value !== undefined && isNode(value) ? textAt(value, "value") : "";
}

function lastName(node: TreeNode): unknown {
  const names = node["column_names"];
  return Array.isArray(names) ? names.at(-1) : undefined;
}

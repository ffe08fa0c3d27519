/** What may have another answer on each server. */

import { nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import { contains, holdsWindow, isAggregateCall } from "./find_cut.ts";
import { OF_DISTINCT, ORDERLESS } from "./partial_aggregates.ts";
import { Unsplit } from "./types.ts";

/** Functions that do not give the same for the same arguments, or not in each process. */
const VOLATILE: ReadonlySet<string> = new Set([
  ..."random uuid gen_random_uuid uuidv4 uuidv7 nextval currval setseed".split(" "),
  ..."now get_current_timestamp transaction_timestamp current_timestamp today".split(" "),
  ..."current_date current_localtime current_localtimestamp get_current_time".split(" "),
]);

/** Throws `Unsplit` where a statement would have another answer on another server. */
export function refuseVolatile(root: TreeNode): void {
  walk(root, (node) => {
    const name = textAt(node, "function_name").toLowerCase();
    if (VOLATILE.has(name)) throw new Unsplit(`${name}() gives another value on each server`);
    // An age is counted from today.
    if (name === "age" && (node["children"] as unknown[]).length === 1) {
      throw new Unsplit("age() gives another value on each server");
    }
    if (name === "reservoir_quantile") throw new Unsplit("reservoir_quantile draws a sample");
  });
}

/**
 * Throws `Unsplit` where each worker would choose by itself among rows of what it reads whole.
 * `queries` are what a worker reads. All rows of `cut` itself meet in the merge, and what leads to
 * it chooses none.
 */
export function refuseChoices(queries: readonly TreeNode[], cut: TreeNode): void {
  walk([...queries], (node) => {
    if (nodeAt(node, "sample") !== undefined) throw new Unsplit("it draws a sample");
    if (node !== cut && choosesRows(node)) {
      throw new Unsplit("each server could choose other rows in a subquery");
    }
  });
}

/** Whether other rows, or other numbers of them, would be as right an answer of a query. */
function choosesRows(query: TreeNode): boolean {
  const modifiers = nodesAt(query, "modifiers");
  if (modifiers.some((one) => textAt(one, "type").startsWith("LIMIT"))) return true;
  if (modifiers.some((one) => nodesAt(one, "distinct_on_targets").length > 0)) return true;
  const clauses = ["select_list", "having", "qualify", "modifiers"].map((name) => query[name]);
  return holdsWindow(clauses) || contains(clauses, choosesValue);
}

/** Whether the order in which an aggregate meets rows decides its value. Servers differ in it. */
function choosesValue(node: TreeNode): boolean {
  const name = textAt(node, "function_name").toLowerCase();
  return isAggregateCall(node) && !ORDERLESS.has(name) && !OF_DISTINCT.has(name) &&
    !name.startsWith("quantile");
}

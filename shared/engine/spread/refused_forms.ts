/** Functions that give other values each time. */

import { textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
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

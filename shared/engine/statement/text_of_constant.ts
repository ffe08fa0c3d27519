/** Texts that a statement has as constants. */

import { nodeAt, textAt, type TreeNode } from "./syntax_tree.ts";

/** The text that a node is; undefined for any other node, also for NULL. */
export function textOfConstant(node: TreeNode): string | undefined {
  const value = nodeAt(node, "value") ?? {};
  const isText = node["class"] === "CONSTANT" && value["is_null"] !== true &&
    textAt(nodeAt(value, "type") ?? {}, "id") === "VARCHAR";
  return isText ? textAt(value, "value") : undefined;
}

/** Texts that a statement searches for, on which the columns of its answer do not depend. */

import { searchedWords } from "../functions/match_calls.ts";
import {
  isNode,
  nodeAt,
  nodesAt,
  type TreeNode,
  type TreeValue,
} from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { attributeCall } from "./attribute_calls.ts";

/**
 * The constants in a WHERE that are the words of a call, or that an attribute is compared with.
 * Both are conditions of texts, whatever the constants say. DuckDB names a column by its text, so
 * none is below a select list.
 */
export function soughtTexts(root: TreeNode): ReadonlySet<TreeNode> {
  const found = new Set<TreeNode>();
  const visit = (value: TreeValue | undefined, isCondition: boolean): void => {
    if (Array.isArray(value)) { for (const one of value) visit(one, isCondition); }
    if (!isNode(value)) return;
    if (isCondition) {
      const words = searchedWords(value);
      for (const text of words === undefined ? comparedTexts(value) : [words]) found.add(text);
    }
    for (const member in value) {
      if (member !== "select_list") visit(value[member], isCondition || member === "where_clause");
    }
  };
  visit(root, false);
  return found;
}

/** The texts that a node compares an attribute with, and nothing else. */
function comparedTexts(node: TreeNode): readonly TreeNode[] {
  const operands = operandsOf(node);
  const texts = operands.filter((one) => textOfConstant(one) !== undefined);
  const others = operands.filter((one) => textOfConstant(one) === undefined);
  const isOfAttributes = others.length > 0 &&
    others.every((one) => attributeCall(one) !== undefined);
  return isOfAttributes ? texts : [];
}

function operandsOf(node: TreeNode): readonly TreeNode[] {
  if (node["class"] === "COMPARISON") {
    return [nodeAt(node, "left"), nodeAt(node, "right")].filter((one) => one !== undefined);
  }
  const isIn = node["type"] === "COMPARE_IN" || node["type"] === "COMPARE_NOT_IN";
  return isIn ? nodesAt(node, "children") : [];
}

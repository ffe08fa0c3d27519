/**
 * Parts of a statement that matter to rows alone in which a column is NULL. They are what follows
 * the column in a `coalesce`, and what stands beside its `IS NULL` in an AND. Where each row of a
 * file has a value in the column, any value of such a part gives the file's answer. So weighted
 * rows need not have what it looks at, if it cannot fail.
 *
 * The level of a log is asked so: `coalesce(attr_get(attributes, 'severity_text'), attr_get(…))`.
 */

import type { Column } from "../../schema/schema.ts";
import { conjuncts } from "../bounds/time_bounds.ts";
import {
  isNode,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import { VALUE_OPERATORS } from "./weighted_functions.ts";

/** The outermost such parts below `root`, each with its column. */
export function guardedParts<Named extends Column>(
  root: TreeNode,
  columnOf: (reference: TreeNode) => Named | undefined,
): ReadonlyMap<TreeNode, Named> {
  const parts = new Map<TreeNode, Named>();
  const named = (node: TreeNode | undefined) =>
    node === undefined || textAt(node, "class") !== "COLUMN_REF" ? undefined : columnOf(node);
  walk(root, (node) => {
    if (parts.has(node)) return false;
    for (const { reference, guarded } of guardsAt(node)) {
      const column = named(reference);
      if (column === undefined) continue;
      for (const part of guarded) parts.set(part, column);
      break;
    }
    return true;
  });
  return parts;
}

/** Parts that matter only where what is referred to is NULL. */
interface Guard {
  readonly reference: TreeNode | undefined;
  readonly guarded: readonly TreeNode[];
}

/** The guards that a node is, whatever it refers to. */
export function guardsAt(node: TreeNode): readonly Guard[] {
  switch (textAt(node, "type")) {
    case "OPERATOR_COALESCE": {
      const [reference, ...guarded] = nodesAt(node, "children");
      return [{ reference, guarded }];
    }
    case "CONJUNCTION_AND": {
      const parts = conjuncts(node);
      return parts.filter((part) => textAt(part, "type") === "OPERATOR_IS_NULL").map((test) => ({
        reference: nodesAt(test, "children")[0],
        guarded: parts.filter((part) => part !== test),
      }));
    }
    default:
      return [];
  }
}

/** Names of the columns that a part looks at. undefined: it may fail, or does what is not known. */
export function columnsOfPart(part: TreeNode): readonly TreeNode[] | undefined {
  const columns: TreeNode[] = [];
  return addColumns(part, columns) ? columns : undefined;
}

function addColumns(value: TreeValue, columns: TreeNode[]): boolean {
  if (Array.isArray(value)) return value.every((item) => addColumns(item, columns));
  if (!isNode(value)) return true;
  switch (textAt(value, "class")) {
    case "COLUMN_REF":
      columns.push(value);
      return true;
    case "CONSTANT":
      return true;
    case "CAST":
      return value["try_cast"] === true && addColumns(nodeAt(value, "child") ?? null, columns);
    case "FUNCTION":
      return isSafeCall(value) && addColumns(nodesAt(value, "children"), columns);
    case "OPERATOR":
      return VALUE_OPERATORS.has(textAt(value, "type")) &&
        addColumns(nodesAt(value, "children"), columns);
    case "BETWEEN":
      return ["input", "lower", "upper"]
        .every((member) => addColumns(nodeAt(value, member) ?? null, columns));
    case "COMPARISON":
      return ["left", "right"]
        .every((member) => addColumns(nodeAt(value, member) ?? null, columns));
    case "CONJUNCTION":
      return addColumns(nodesAt(value, "children"), columns);
    default:
      return false;
  }
}

/** `attr_get` gives NULL where a text is no JSON. */
function isSafeCall(call: TreeNode): boolean {
  return textAt(call, "function_name").toLowerCase() === "attr_get" &&
    nodesAt(call, "children").length === 2;
}

/**
 * Doubles in a tree that becomes a text again. The SQL engine writes `0.1e0` as `0.1` and `1e3` as `1000.0`, which it then reads
 * as decimals: other types, and other sums. So each one becomes its digits as a text that is cast; and where a column had
 * its name from an expression with one, it gets that name.
 */

import { columnName } from "./column_name.ts";
import { constantNode } from "./fast_paths/tree_nodes.ts";
import {
  doubleConstant,
  isNode,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
  withRoot,
} from "./syntax_tree.ts";

/** The same document where it has no double. `textOf` writes a document as it is. */
export async function withExactDoubles(
  document: TreeNode,
  textOf: (document: TreeNode) => Promise<string>,
): Promise<TreeNode> {
  if (!hasNode(document, isDouble)) return document;
  const names = new Map<TreeNode, string>();
  for (const [select, item] of unnamedItems(document)) {
    const ofQuery = (query: TreeNode) => textOf(withRoot(document, query));
    names.set(item, await columnName(select, item, ofQuery));
  }
  return exact(document, names) as TreeNode;
}

/** A copy of what has a double. */
function exact(value: unknown, names: ReadonlyMap<TreeNode, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => exact(item, names));
  if (!isNode(value)) return value;
  const members = Object.entries(value).map(([member, inner]) => [member, exact(inner, names)]);
  const copy = constantNode(Object.fromEntries(members));
  const name = names.get(value);
  return name === undefined ? copy : { ...copy, alias: name };
}

/** Items of select lists that have a double and whose name is their text, each with its SELECT. */
function unnamedItems(document: TreeNode): [select: TreeNode, item: TreeNode][] {
  const found: [TreeNode, TreeNode][] = [];
  walk(document, (node) => {
    if (textAt(node, "type") !== "SELECT_NODE") return;
    for (const item of nodesAt(node, "select_list")) {
      // A star makes several columns, which are named after theirs.
      const isOne = !hasNode(item, (inner) => textAt(inner, "class") === "STAR");
      if (textAt(item, "alias") === "" && isOne && hasNode(item, isDouble)) {
        found.push([node, item]);
      }
    }
  });
  return found;
}

function isDouble(node: TreeNode): boolean {
  return doubleConstant(node) !== undefined;
}

function hasNode(root: unknown, isWanted: (node: TreeNode) => boolean): boolean {
  let found = false;
  walk(root, (node) => {
    found ||= isWanted(node);
    return !found;
  });
  return found;
}

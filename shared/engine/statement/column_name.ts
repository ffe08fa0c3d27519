/** Asks what DuckDB calls a column that has no name of its own: the text of its expression. */

import type { TreeNode } from "./syntax_tree.ts";
import { selectNode } from "./tree_nodes.ts";

/** Returns the name of `item` of the select list of `select`. `textOf` writes a query as it is. */
export async function columnName(
  select: TreeNode,
  item: TreeNode,
  textOf: (query: TreeNode) => Promise<string>,
): Promise<string> {
  const text = await textOf({ ...select, ...selectNode([item]) });
  return text.slice(SELECT.length);
}

const SELECT = "SELECT ";

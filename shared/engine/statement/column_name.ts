/** Asks what DuckDB calls a column that has no name of its own: the text of its expression. */

import type { TreeNode } from "./syntax_tree.ts";

/** Returns the name of `item` of the select list of `select`. `textOf` writes a query as it is. */
export async function columnName(
  select: TreeNode,
  item: TreeNode,
  textOf: (query: TreeNode) => Promise<string>,
): Promise<string> {
  const text = await textOf({ ...select, ...BARE, select_list: [item] });
  return text.slice(SELECT.length);
}

const SELECT = "SELECT ";

/** A SELECT that has nothing but its list. */
const BARE = {
  modifiers: [],
  cte_map: { map: [] },
  from_table: { type: "EMPTY", alias: "", sample: null, query_location: 0 },
  where_clause: null,
  group_expressions: [],
  group_sets: [],
  aggregate_handling: "STANDARD_HANDLING",
  having: null,
  sample: null,
  qualify: null,
} as const;

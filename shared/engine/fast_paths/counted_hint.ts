/**
 * Tells planning, before it knows the tables, that a statement only counts the rows of a range of
 * time. Segments of the WAL that lie in the range are then counted, and not converted. Should it
 * turn out that a fast path does not answer, the statement is planned once more with their rows.
 */

import type { Bounded } from "../bounds/bound_statement.ts";
import { onlyTimeBounds } from "../bounds/time_bounds.ts";
import { readsOnlyFrom } from "../order/nearest_hint.ts";
import { nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import type { QueryRequest } from "../types.ts";

/** Whether a statement asks for nothing of its rows but their number. */
export function countsOnlyRows(
  { statement: { root }, references, catalog, bounds }: Bounded,
  request: QueryRequest,
): boolean {
  const [reference] = references;
  if (request.fastPaths === false || !readsTableAsItIs(request) || catalog.length > 0) return false;
  if (reference === undefined || reference.hot !== undefined) return false;
  if (!bounds.complete || !readsOnlyFrom(root, references)) return false;
  const where = nodeAt(root, "where_clause");
  if (where !== undefined && !onlyTimeBounds(where, reference.node, { clockLower: true })) {
    return false;
  }
  const having = nodeAt(root, "having");
  const parts = [
    ...nodesAt(root, "select_list"),
    ...nodesAt(root, "group_expressions"),
    ...nodesAt(root, "modifiers"),
    ...having === undefined ? [] : [having],
  ];
  return parts.some(countsRows) && !parts.some(namesColumns);
}

/** Whether all rows are read that the table has now, and no counts are asked besides. */
function readsTableAsItIs(
  { snapshot, since, step, columnCounts, shard, received }: QueryRequest,
): boolean {
  return [snapshot, since, step, columnCounts, shard, received].every((one) => one === undefined);
}

function countsRows(part: TreeNode): boolean {
  return has(
    part,
    (node) => ["count_star", "count"].includes(textAt(node, "function_name").toLowerCase()),
  );
}

function namesColumns(part: TreeNode): boolean {
  return has(part, (node) => ["COLUMN_REF", "STAR"].includes(textAt(node, "class")));
}

function has(part: TreeNode, isIt: (node: TreeNode) => boolean): boolean {
  let found = false;
  walk(part, (node) => {
    found ||= isIt(node);
  });
  return found;
}

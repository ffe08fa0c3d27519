/**
 * Tells planning, before it knows the tables, that a statement only counts the rows of a range of
 * time. Segments of the WAL that lie in the range are then counted, and not converted. Should it
 * turn out that a fast path does not answer, the statement is planned once more with their rows.
 */

import type { Bounded } from "../bounds/bound_statement.ts";
import { onlyTimeBounds } from "../bounds/time_bounds.ts";
import { readsOnlyFrom } from "../order/nearest_hint.ts";
import {
  answerClauses,
  nodeAt,
  someNode,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";
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
  const clauses = answerClauses(root);
  return someNode(clauses, countsRows) && !someNode(clauses, namesColumn);
}

/** Whether all rows are read that the table has now, and no counts are asked besides. */
function readsTableAsItIs(
  { snapshot, since, step, columnCounts, shard, received }: QueryRequest,
): boolean {
  return [snapshot, since, step, columnCounts, shard, received].every((one) => one === undefined);
}

function countsRows(node: TreeNode): boolean {
  return ["count_star", "count"].includes(textAt(node, "function_name").toLowerCase());
}

function namesColumn(node: TreeNode): boolean {
  return ["COLUMN_REF", "STAR"].includes(textAt(node, "class"));
}

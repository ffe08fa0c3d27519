/**
 * The phase that has a scan read less where data files have what it asks in a cheaper form. Words
 * are in a column of their own, and attributes matter to no row of many files. Changes the tree.
 */

import { untilAborted } from "../../base/until_aborted.ts";
import type { TableAnswers } from "../fast_paths/table_answers.ts";
import { isAggregate } from "../fast_paths/weighted_aggregates.ts";
import { keepNames } from "../functions/exchange_calls.ts";
import type { Ordered } from "../order/order_statement.ts";
import { isCompleteIn, partRows, rowsOfParts, type TablePlan } from "../plan/plan.ts";
import { columnsShape } from "../statement/columns_shape.ts";
import { textAsItIs } from "../statement/parse.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import {
  listAt,
  nodesAt,
  replaceNode,
  someNode,
  textAt,
  type TreeNode,
  withRoot,
} from "../statement/syntax_tree.ts";
import { columnNode } from "../statement/tree_nodes.ts";
import type { Deadline } from "../turns/deadline.ts";
import { SparedColumns } from "./spared_columns.ts";
import { toldConditions } from "./told_words.ts";
import { unneededJson } from "./unneeded_json.ts";

/** One row in so many may be read as was asked, and a statement is priced as if none were. */
const DEAR_SHARE_MIN = 9;

/** Reads summaries of data files. Errors: the deadline's, the connection's. */
export async function spareStatement(
  ordered: Ordered,
  { cached, deps: { answers }, deadline, usesPromoted, spares = true }: {
    readonly cached: CachedConnection;
    readonly deps: { readonly answers: TableAnswers };
    readonly deadline: Deadline;
    /** Whether the statement may name other columns than it was sent with. */
    readonly usesPromoted: boolean;
    readonly spares?: boolean;
  },
): Promise<Ordered> {
  const { path, wanted, bounds, statement: { root, document } } = ordered;
  // Rows in order of time are found by their own means.
  const isInOrder = wanted?.direction !== undefined;
  const isScan = path.kind === "scan" && !isInOrder && !endsEarly(root);
  if (!isScan || !usesPromoted || !spares) return ordered;
  const telling = toldConditions(root, ordered, { answers, cached });
  const uses = [...await untilAborted(telling, deadline.signal), ...unneededJson(root, ordered)];
  if (uses.length === 0) return ordered;
  const nodes = new Set(uses.map(({ node }) => node));
  await keepNames(root, {
    textOf: (select) => textAsItIs(cached, withRoot(document, select)),
    wants: (item) => someNode(item, (node) => nodes.has(node)),
  });
  const columns = new SparedColumns(ordered.tables, root);
  for (const use of uses) {
    const { node, reach } = use;
    const { alias, query_location } = node;
    const column = columnNode(reach.qualifier, columns.add(use));
    replaceNode(node, { ...column, alias, query_location });
  }
  return {
    ...ordered,
    tables: columns.tables(root),
    isPromoted: true,
    promotedShape: columnsShape(document, bounds),
  };
}

/** Whether any first rows will do: looking up what all files tell takes longer. */
function endsEarly(root: TreeNode): boolean {
  const modifiers = nodesAt(root, "modifiers").map((modifier) => textAt(modifier, "type"));
  return modifiers.some((type) => type.startsWith("LIMIT")) &&
    modifiers.every((type) => type.startsWith("LIMIT")) &&
    listAt(root, "group_expressions").length === 0 &&
    !nodesAt(root, "select_list").some((item) => someNode(item, isAggregate));
}

/** Whether a good part of a table's rows is read as was asked. */
export function isReadDear(table: TablePlan): boolean {
  const sources = [...table.made.values()].flatMap((made) =>
    made.form === "choice" ? made.sources : []
  );
  const dear = table.parts
    .filter((part) => sources.some((source) => !isCompleteIn(table, part, source)))
    .reduce((sum, part) => sum + partRows(part), 0);
  return DEAR_SHARE_MIN * dear > rowsOfParts(table.parts);
}

/**
 * The phase that changes a statement by what its tables are: the implicit newest-first order, and
 * promoted columns for attributes. Changes the tree.
 */

import { applyDefaultOrder } from "../order/default_order.ts";
import type { QueryRequest } from "../types.ts";
import type { TablePlan } from "./plan.ts";
import type { Planned } from "./plan_statement.ts";
import { projectedAnew } from "./projection.ts";
import { usePromoted } from "./promoted_attributes.ts";

/** A planned statement, changed by what its tables are. */
export interface Rewritten extends Planned {
  /** `planned` with the columns that the statement names now. */
  readonly tables: readonly TablePlan[];
  readonly defaultOrderApplied: boolean;
  /** Whether attributes are read from promoted columns. */
  readonly isPromoted: boolean;
}

/**
 * Adds the default order and uses promoted columns. It changes the tree and nothing else. An
 * EXPLAIN keeps the order that it was given.
 */
export function rewriteStatement(
  planned: Planned,
  { request, usesPromoted }: {
    readonly request: QueryRequest;
    /** Whether attributes may be read from promoted columns. */
    readonly usesPromoted: boolean;
  },
): Rewritten {
  const { statement: { root, explain }, references, planned: before } = planned;
  const defaultOrderApplied = request.defaultOrder && !explain &&
    applyDefaultOrder(root, { table: tableOf(planned), rowsMax: request.rowsMax });
  const promoted = usesPromoted ? usePromoted(root, references, before) : undefined;
  const isPromoted = promoted !== undefined;
  const tables = defaultOrderApplied || isPromoted
    ? projectedAnew(promoted ?? before, root)
    : before;
  return { ...planned, tables, defaultOrderApplied, isPromoted };
}

/** Returns the stored table that is the FROM of the outermost SELECT. */
function tableOf({ statement: { root }, references, planned }: Planned): TablePlan | undefined {
  const own = references.find(({ node }) => node === root["from_table"]);
  return planned.find(({ name }) => name === own?.table);
}

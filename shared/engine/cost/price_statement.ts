/** The phase that prices a statement, by its plan and by what it does with the rows. */

import type { TableName } from "../bind/table_names.ts";
import type { Ordered } from "../order/order_statement.ts";
import { rowsOfParts, type TablePlan } from "../plan/plan.ts";
import { isReadDear } from "../spared/spare_statement.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";
import type { Cost } from "../types.ts";
import { costOf } from "./cost.ts";
import { generatedRows } from "./generated_rows.ts";
import { joinedRows } from "./joined_rows.ts";
import { plainWork } from "./plain_work.ts";

/** An ordered statement with its price. */
export interface Priced extends Ordered {
  readonly cost: Cost;
}

/**
 * Estimates the price. Pure. It reads the statement as it was asked, so it comes before calls are
 * exchanged.
 */
export function priceStatement(ordered: Ordered): Priced {
  return { ...ordered, cost: priceOf(ordered.statement.root, ordered) };
}

/** Estimates the price of a statement over the parts of its tables. Pure. */
export function priceOf(
  root: TreeNode,
  { names, tables }: Pick<Ordered, "names" | "tables">,
): Cost {
  return costOf({ tables }, {
    generated: generatedRows(root),
    joined: joinedRows(root, (name) => rowsOf(name, { names, tables })),
    plain: tables.some(isReadDear) ? undefined : plainWork(root),
  });
}

/** Returns how many rows are read of the table with a name; undefined: it is no table's name. */
function rowsOf(
  name: string,
  { names, tables }: {
    readonly names: readonly TableName[];
    readonly tables: readonly TablePlan[];
  },
): number | undefined {
  const table = names.find((known) => known.name === name)?.table;
  const planned = tables.find((candidate) => candidate.name === table);
  return planned && rowsOfParts(planned.parts);
}

/**
 * The phase that narrows a scan to the newest or oldest rows where the statement asks for just
 * those, and says why it does not elsewhere.
 */

import type { TablePlan } from "../plan/plan.ts";
import type { Pruned } from "../pruning/prune_statement.ts";
import { nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { ScanOrdering } from "../types.ts";
import { type FanIn, newestFirst, orderedParts } from "./ordered_scan.ts";

/** A pruned statement, narrowed where it wants the newest or oldest rows. */
export interface Ordered extends Pruned {
  readonly ordering: ScanOrdering;
}

/** Narrows the scan where that is possible. It reads footers of data files. Errors: the store's. */
export async function orderStatement(
  pruned: Pruned,
  { deps }: { readonly deps: { readonly fanIn: FanIn } },
): Promise<Ordered> {
  return { ...pruned, ...await narrowed(pruned, deps) };
}

/**
 * Returns what is left of the one table that the statement reads, and what is told of its order.
 */
async function narrowed(
  { path, statement: { root }, tables, wanted, bounds, data }: Pruned,
  { fanIn }: { readonly fanIn: FanIn },
): Promise<Pick<Ordered, "tables" | "ordering">> {
  if (path.kind === "summaries") return { tables, ordering: unordered(path.fast) };
  const [table] = tables;
  if (wanted === undefined || table === undefined) return { tables, ordering: "no_sort_order" };
  if (wantsNoOrder(root)) return { tables, ordering: unordered(table) };
  const { refusal } = table.order;
  if (refusal !== undefined) return { tables, ordering: refusal };
  if ("ordering" in wanted) {
    const isNewest = wanted.direction === "newest";
    const sorted = isNewest ? [{ ...table, parts: newestFirst(table) }] : tables;
    return { tables: sorted, ordering: wanted.ordering };
  }
  // A bound that is not in the range would let rows count that the statement drops.
  if (!bounds.complete) return { tables, ordering: "filtered" };
  const { parts, ordering } = await orderedParts(table, wanted, { lease: data, fanIn });
  if (parts === undefined) return { tables, ordering };
  return { tables: [{ ...table, parts, ordered: true }], ordering };
}

/** Whether the statement leaves the order of its rows open. */
function wantsNoOrder(root: TreeNode): boolean {
  return !nodesAt(root, "modifiers").some((one) => textAt(one, "type") === "ORDER_MODIFIER");
}

/** Returns what a scan that nobody wants in order could tell of its order. */
function unordered({ projected }: Pick<TablePlan, "projected">): ScanOrdering {
  return projected.some(({ name }) => name === "timestamp") ? "no_sort_order" : "not_projected";
}

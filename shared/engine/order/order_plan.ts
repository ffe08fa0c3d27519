/** Which of its table's parts an ordered statement needs, and what is told of the order. */

import type { DataFileLease } from "../files/data_files.ts";
import type { TableReference } from "../gate/gate.ts";
import {
  type FanIn,
  newestFirst,
  orderedParts,
  type OrderedRequest,
  orderedRequest,
  wantsNoOrder,
} from "./ordered_scan.ts";
import type { Statement } from "../statement/parse.ts";
import type { Plan, TablePlan } from "../plan/plan.ts";
import { type TreeNode, walk } from "../statement/syntax_tree.ts";
import type { ScanOrdering } from "../types.ts";

interface OrderInput {
  readonly statement: Statement;
  readonly references: readonly TableReference[];
  readonly tables: readonly TablePlan[];
  /** All time bounds of the statement are in the plan's ranges. */
  readonly complete: boolean;
}

/** Narrows the plan to the newest or oldest rows where the statement asks for just those. */
export async function order(
  { statement, references, tables, complete }: OrderInput,
  { data, fanIn }: { readonly data: DataFileLease; readonly fanIn: FanIn },
): Promise<{ readonly plan: Plan; readonly ordering: ScanOrdering }> {
  const wanted = orderedRequest(statement.root);
  const table = singleTable(statement, references, tables);
  if (table === undefined) return { plan: { tables }, ordering: "no_sort_order" };
  if (wantsNoOrder(statement.root)) return { plan: { tables }, ordering: unordered(table) };
  const { refusal } = table.order;
  if (refusal !== undefined) return { plan: { tables }, ordering: refusal };
  const narrowed = (changes: Partial<TablePlan>) => ({ tables: [{ ...table, ...changes }] });
  if ("ordering" in wanted) {
    const plan = wanted.direction === "newest"
      ? narrowed({ parts: newestFirst(table) })
      : { tables };
    return { plan, ordering: wanted.ordering };
  }
  // A bound that is not in the range would let rows count that the statement drops.
  if (!complete) return { plan: { tables }, ordering: "filtered" };
  const { parts, ordering } = await orderedParts(table, wanted, {
    footer: (file) => data.footer(file),
    path: (file) => data.path(file),
    fanIn,
  });
  if (parts === undefined) return { plan: { tables }, ordering };
  return { plan: narrowed({ parts, ordered: true }), ordering };
}

/** The table that is all that the statement's outermost SELECT, and no other, reads. */
export function singleTable(
  { root }: Statement,
  references: readonly TableReference[],
  [table]: readonly TablePlan[],
): TablePlan | undefined {
  const isSingle = references.length === 1 && countTables(root) === 1 &&
    references[0]?.node === root["from_table"];
  return isSingle ? table : undefined;
}

/** Which of its filter's rows a statement wants first, where that can be tried out beforehand. */
export function nearestRequest(
  wanted: ReturnType<typeof orderedRequest> | undefined,
): OrderedRequest | undefined {
  if (wanted === undefined || !("ordering" in wanted)) return undefined;
  const { direction, rows } = wanted;
  return direction === undefined || rows === undefined ? undefined : { direction, rows };
}

/** What a scan that nobody wants in order could tell of its order. */
export function unordered({ projected }: Pick<TablePlan, "projected">): ScanOrdering {
  return projected.some(({ name }) => name === "timestamp") ? "no_sort_order" : "not_projected";
}

function countTables(root: TreeNode): number {
  let count = 0;
  walk(root, (node) => {
    if (node["type"] === "BASE_TABLE") count += 1;
  });
  return count;
}

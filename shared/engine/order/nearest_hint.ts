/**
 * Tells planning, before it knows the tables, that a statement wants only its newest or oldest
 * rows. Segments of the WAL that cannot hold one of them are not converted for it.
 */

import type { Bounded } from "../bounds/bound_statement.ts";
import type { TableReference } from "../gate/gate.ts";
import { nodeAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import type { QueryRequest } from "../types.ts";
import { defaultModifiers, isBareSelect, wantsDefaultOrder } from "./default_order.ts";
import type { OrderedRequest } from "./nearest_units.ts";
import { orderedRequest } from "./ordered_scan.ts";

/** Rows that a statement wants of the only table that it reads. */
export interface NearestHint extends OrderedRequest {
  /** Whether it holds only for a table to which the default order applies. */
  readonly isDefault: boolean;
}

/** Returns the rows that are wanted in order of time; undefined where any row may count. */
export function nearestHint(
  { statement: { root, explain }, references, bounds }: Bounded,
  request: QueryRequest,
): NearestHint | undefined {
  // A bound that is not in the range would let rows count that the statement drops.
  if (!bounds.complete || !readsOnlyFrom(root, references)) return undefined;
  if (request.shard !== undefined || request.received !== undefined) return undefined;
  const isDefault = wantsDefaultOrder(root, request) && !explain && isBareSelect(root);
  const modifiers = isDefault ? defaultModifiers(root, request.rowsMax) : root["modifiers"];
  const wanted = orderedRequest({ ...root, modifiers });
  return "ordering" in wanted ? undefined : { ...wanted, isDefault };
}

/** Whether one table is all that the statement's outermost SELECT, and no other, reads. */
export function readsOnlyFrom(root: TreeNode, references: readonly TableReference[]): boolean {
  return references.length === 1 && countTables(root) === 1 &&
    references[0]?.node === nodeAt(root, "from_table");
}

function countTables(root: TreeNode): number {
  let count = 0;
  walk(root, (node) => {
    if (textAt(node, "type") === "BASE_TABLE") count += 1;
  });
  return count;
}

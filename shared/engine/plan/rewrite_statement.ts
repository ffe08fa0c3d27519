/**
 * The phase that changes a statement by what its tables are: the implicit newest-first order, and
 * promoted columns for attributes. Changes the tree.
 */

import type { TableReference } from "../gate/gate.ts";
import { applyDefaultOrder, isBareSelect } from "../order/default_order.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";
import type { QueryRequest } from "../types.ts";
import type { TablePlan } from "./plan.ts";
import type { Planned } from "./plan_statement.ts";
import { namedColumns, projectedOf } from "./projection.ts";
import { usePromoted } from "./promoted_attributes.ts";

export interface Rewritten extends Planned {
  /** `planned` with the columns that the statement names now. */
  readonly tables: readonly TablePlan[];
  readonly defaultOrderApplied: boolean;
  /** Attributes are read from promoted columns. */
  readonly isPromoted: boolean;
}

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
    mayOrder(root, references, before) && applyDefaultOrder(root, request.rowsMax);
  const promoted = usesPromoted ? usePromoted(root, references, before) : undefined;
  const isPromoted = promoted !== undefined;
  const tables = defaultOrderApplied || isPromoted
    ? projectedAnew(promoted ?? before, root)
    : before;
  return { ...planned, tables, defaultOrderApplied, isPromoted };
}

/** The implicit order is for one stored table with a column `timestamp` that is its time. */
function mayOrder(
  root: TreeNode,
  references: readonly TableReference[],
  tables: readonly TablePlan[],
): boolean {
  if (!isBareSelect(root)) return false;
  const own = references.find((reference) => reference.node === root["from_table"]);
  const table = tables.find((candidate) => candidate.name === own?.table);
  if (table === undefined || !table.order.isImplicit) return false;
  return table.schema.columns.some(({ name, type }) =>
    name === "timestamp" && type === "timestamptz"
  );
}

/** The statement may name other columns now. */
function projectedAnew(tables: readonly TablePlan[], root: TreeNode): readonly TablePlan[] {
  const named = namedColumns(root);
  return tables.map((table) => ({ ...table, projected: projectedOf(table, named) }));
}

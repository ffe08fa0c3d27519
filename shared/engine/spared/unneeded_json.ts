/**
 * Attributes that matter to no row of a file, and are not read of it. A level is asked as
 * `coalesce(attr_get(attributes, 'severity_text'), attr_get(attributes, 'level'))`. Only rows
 * without the first need JSON for the second. But DuckDB unpacks the JSON of each row, since the
 * statement names it, and most files have the first in each row.
 */

import type { DataFile } from "../../iceberg/types.ts";
import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import { quoteName } from "../duckdb/statement_text.ts";
import { columnsOfPart, guardedParts } from "../fast_paths/guarded_parts.ts";
import { readsOnlyFrom } from "../order/nearest_hint.ts";
import type { Ordered } from "../order/order_statement.ts";
import { columnUses } from "../plan/attribute_scopes.ts";
import { isFilled, servingSources } from "../plan/made_columns.ts";
import type { TablePlan } from "../plan/plan.ts";
import { isNamed } from "../plan/projection.ts";
import { listAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { SparedUse } from "./spared_columns.ts";

/**
 * Returns what may take the place of the attributes in a statement over one table that needs them
 * nowhere else.
 */
export function unneededJson(
  root: TreeNode,
  { references, tables }: Pick<Ordered, "references" | "tables">,
): readonly SparedUse[] {
  const [table] = tables;
  const [reference] = references;
  if (table === undefined || reference === undefined) return [];
  if (table.made.size === 0 || !readsOnlyFrom(root, references)) return [];
  const guards = guardsOf(root, table);
  if (guards.size === 0) return [];
  const { uses } = columnUses(root, [{
    node: reference.node,
    columns: table.schema.columns.map(({ name }) => name),
    lookedInto: ATTRIBUTES,
  }], (node) => nameOf(node) === ATTRIBUTES ? { column: node } : undefined);
  const spared = uses.flatMap(({ node, reach, isOwn }): SparedUse[] => {
    const guard = guards.get(node);
    if (guard === undefined || reach.kind !== "table" || !isOwn) return [];
    return [{
      ...{ node, reach, table },
      key: `attributes without ${guard.name}`,
      type: "string",
      source: undefined,
      files: new Set(table.files.filter((file) => hasEachValue(table, guard, file))),
      cheap: { sql: "NULL::VARCHAR", reads: [], told: "attributes matter to no row of" },
      dear: { sql: quoteName(ATTRIBUTES), reads: [ATTRIBUTES], told: "may matter to rows of" },
    }];
  });
  const isElse = isNamed(ATTRIBUTES, root, new Set(spared.map(({ node }) => node)));
  return !isElse && spared.every(({ files }) => files.size > 0) ? spared : [];
}

/** By place: the column in whose rows without a value it matters. */
function guardsOf(root: TreeNode, { schema, made }: TablePlan): ReadonlyMap<TreeNode, Column> {
  const parts = guardedParts(root, (node) => {
    const name = nameOf(node);
    const isText = made.get(name)?.form === "text";
    return isText ? schema.columns.find((column) => column.name === name) : undefined;
  });
  const guards = new Map<TreeNode, Column>();
  for (const [part, guard] of parts) {
    for (const column of columnsOfPart(part) ?? []) guards.set(column, guard);
  }
  return guards;
}

function nameOf(node: TreeNode): string {
  return textAt(node, "class") === "COLUMN_REF" ? String(listAt(node, "column_names").at(-1)) : "";
}

/** Whether each row of a file has a value in a made column. */
function hasEachValue({ made, isComplete }: TablePlan, { name }: Column, file: DataFile): boolean {
  const own = made.get(name);
  return own !== undefined &&
    servingSources(own).some((source) => isComplete(file, source) && isFilled(file, source));
}

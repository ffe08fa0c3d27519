/**
 * `attr_get(attributes, 'x')` in a WHERE becomes the promoted column `x`, where the table has one (SPEC.md 2.1): reading a
 * column costs less than looking through JSON. The answer is the same for every row (`event/promoted.ts`): a row whose
 * column was never filled is looked up in its attributes as before. When no row that is read lacks the value,
 * `attributes` is not read at all.
 *
 * Only in the statement whose FROM is the table itself, and not below a subquery: elsewhere the column need not be in
 * reach.
 */

import { ATTRIBUTES, readsBack } from "../event/promoted.ts";
import type { Column } from "../event/schema.ts";
import type { TableReference } from "./gate.ts";
import type { TablePlan } from "./plan.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode, walk } from "./syntax_tree.ts";

/** Changes the tree; returns whether it did. */
export function usePromoted(
  root: TreeNode,
  references: readonly TableReference[],
  tables: readonly TablePlan[],
): boolean {
  const where = nodeAt(root, "where_clause");
  const [reference] = references;
  const [table] = tables;
  if (where === undefined || reference === undefined || references.length > 1) return false;
  const isPlain = reference.node === root["from_table"] && reference.hot === undefined &&
    listAt(reference.node, "column_name_alias").length === 0;
  if (!isPlain || table?.schema.promoted === undefined) return false;
  const { promoted, columns } = table.schema;
  const byName = new Map(
    columns.filter(({ name, type }) => promoted.includes(name) && readsBack(type))
      .map((column) => [column.name, column]),
  );
  let isChanged = false;
  walk(where, (node) => {
    if (textAt(node, "class") === "SUBQUERY") return false;
    const column = byName.get(attributeOf(node) ?? "");
    if (column === undefined) return true;
    Object.assign(node, promotedNode(node, { column, table, from: reference.node }));
    isChanged = true;
    // What it was is inside now.
    return false;
  });
  return isChanged;
}

/** The name in `attr_get(attributes, '<name>')`; undefined for anything else. */
function attributeOf(node: TreeNode): string | undefined {
  if (textAt(node, "class") !== "FUNCTION") return undefined;
  if (textAt(node, "function_name").toLowerCase() !== "attr_get") return undefined;
  const [attributes, name, ...others] = nodesAt(node, "children");
  if (attributes === undefined || name === undefined || others.length > 0) return undefined;
  if (textAt(attributes, "class") !== "COLUMN_REF") return undefined;
  const column = listAt(attributes, "column_names").at(-1);
  if (typeof column !== "string" || column.toLowerCase() !== ATTRIBUTES) return undefined;
  if (textAt(name, "class") !== "CONSTANT") return undefined;
  const value = nodeAt(name, "value")?.["value"];
  return typeof value === "string" ? value : undefined;
}

/** `CAST(<table>.<column> AS VARCHAR)`, and where rows may lack it `coalesce` of that and the call. */
function promotedNode(
  call: TreeNode,
  { column, table, from }: {
    readonly column: Column;
    readonly table: TablePlan;
    readonly from: TreeNode;
  },
): TreeNode {
  const place = { alias: "", query_location: call["query_location"] };
  const qualifier = textAt(from, "alias") || textAt(from, "table_name");
  const text: TreeNode = {
    ...place,
    class: "CAST",
    type: "OPERATOR_CAST",
    child: {
      ...place,
      class: "COLUMN_REF",
      type: "COLUMN_REF",
      column_names: [qualifier, column.name],
    },
    cast_type: { id: "VARCHAR", type_info: null },
    try_cast: false,
  };
  if (isFilled(table, column)) return text;
  return { ...place, class: "OPERATOR", type: "OPERATOR_COALESCE", children: [text, { ...call }] };
}

/** Whether every row that can be read has a value. */
function isFilled({ files, delta }: TablePlan, { id }: Column): boolean {
  return delta.length === 0 &&
    files.every((file) => file.valueCounts.get(id) === file.rows && file.nullCounts.get(id) === 0);
}

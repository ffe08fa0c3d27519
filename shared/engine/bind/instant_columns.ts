/**
 * Finds the column references of a statement that are instants (TIMESTAMP WITH TIME ZONE), so that
 * calls on them may be exchanged.
 */

import type { TableReference } from "../gate/gate.ts";
import type { TablePlan } from "../plan/plan.ts";
import { type KeepsKind, stemmedReferences } from "./stemmed_references.ts";
import { listAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

/**
 * Returns the `COLUMN_REF` nodes below `root` that name instants of `tables`, or what a subquery
 * makes of them by expressions that give instants. A column that a join may merge with another one
 * is not among them.
 */
export function instantColumns(
  root: TreeNode,
  { references, tables, givesInstant }: {
    readonly references: readonly TableReference[];
    readonly tables: readonly TablePlan[];
    readonly givesInstant: KeepsKind;
  },
): ReadonlySet<TreeNode> {
  const named = references.flatMap(({ node, table }) => {
    const plan = tables.find(({ name }) => name === table);
    if (plan === undefined) return [];
    const { columns } = plan.schema;
    const instants = columns.filter(({ type }) => type === "timestamptz").map(({ name }) => name);
    // A column is followed in the same way as one that is compared by stems.
    return [{ node, columns: columns.map(({ name }) => name), stemmed: new Set(instants) }];
  });
  const merged = mergedNames(root);
  if (merged === undefined) return new Set();
  const found = stemmedReferences(root, named, givesInstant);
  return new Set([...found].filter((node) => !merged.has(nameOf(node))));
}

/**
 * Returns the lower-cased names of columns that USING merges, perhaps of several types. It is
 * undefined where there is a NATURAL join, which may merge any column.
 */
function mergedNames(root: TreeNode): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  let isNatural = false;
  walk(root, (node) => {
    if (textAt(node, "type") !== "JOIN") return;
    if (textAt(node, "ref_type") === "NATURAL") isNatural = true;
    for (const name of listAt(node, "using_columns")) names.add(String(name).toLowerCase());
  });
  return isNatural ? undefined : names;
}

function nameOf(node: TreeNode): string {
  return String(listAt(node, "column_names").at(-1)).toLowerCase();
}

/** Whether the clauses of a statement can be asked of weighted rows. */

import { listAt, nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import type { NamedColumns, WeightedTable } from "./named_columns.ts";
import { Aside } from "./step_aside.ts";
import { isAggregate } from "./weighted_aggregates.ts";

/** Throws `Aside` where a statement is not a plain SELECT from the one table. */
export function checkClauses(
  root: TreeNode,
  { table, schema }: Pick<WeightedTable, "table" | "schema">,
): void {
  if (textAt(root, "type") !== "SELECT_NODE") throw new Aside("it is more than one SELECT");
  if (nodesAt(nodeAt(root, "cte_map") ?? {}, "map").length > 0) throw new Aside("it has a WITH");
  if (nodeAt(root, "from_table") !== table || textAt(table, "type") !== "BASE_TABLE") {
    throw new Aside("it reads more than one table");
  }
  if (listAt(table, "column_name_alias").length > 0) throw new Aside("it renames columns");
  if (nodeAt(table, "sample") !== undefined || nodeAt(root, "sample") !== undefined) {
    throw new Aside("it draws a sample");
  }
  if (nodeAt(root, "qualify") !== undefined) throw new Aside("it has a QUALIFY");
  if (listAt(root, "group_sets").length > 1) throw new Aside("it has several groupings");
  // Weighted rows have columns with such names besides.
  const reserved = schema.columns.find(({ name }) => name.startsWith("#"));
  if (reserved !== undefined) {
    throw new Aside(`the table has a column ${reserved.name.toLowerCase()}`);
  }
}

/** Whether a statement has a GROUP BY, or lists values. Throws `Aside`. */
export function hasGroups(root: TreeNode): boolean {
  return listAt(root, "group_expressions").length > 0 || groupsByAll(root) || isDistinct(root);
}

function groupsByAll(root: TreeNode): boolean {
  return textAt(root, "aggregate_handling") === "FORCE_AGGREGATES";
}

function isDistinct(root: TreeNode): boolean {
  return nodesAt(root, "modifiers").some((modifier) => {
    if (textAt(modifier, "type") !== "DISTINCT_MODIFIER") return false;
    if (listAt(modifier, "distinct_on_targets").length > 0) {
      throw new Aside("it has a DISTINCT ON");
    }
    return true;
  });
}

/**
 * Whether a statement groups by times that HAVING names: GROUP BY ALL also groups by each column
 * that HAVING names outside of aggregates. Throws `Aside`.
 */
export function groupsByTimes(
  root: TreeNode,
  { columns, values }: { readonly columns: NamedColumns } & Pick<WeightedTable, "values">,
): boolean {
  if (!groupsByAll(root)) return false;
  const items = nodesAt(root, "select_list");
  let isTimes = false;
  const visit = (node: TreeNode): boolean => {
    if (isAggregate(node)) return false;
    const names = listAt(node, "column_names").map((name) => String(name).toLowerCase());
    const item = items.find(({ alias }) => String(alias).toLowerCase() === names.join());
    if (item !== undefined && item !== node && !values.has(item)) walk(item, ownColumns);
    return ownColumns(node);
  };
  const ownColumns = (node: TreeNode): boolean => {
    if (isAggregate(node) || values.has(node)) return false;
    isTimes ||= /^timestamp(?:_ns)?$/.test(columns.of(node)?.name ?? "");
    return true;
  };
  walk(nodeAt(root, "having"), visit);
  return isTimes;
}

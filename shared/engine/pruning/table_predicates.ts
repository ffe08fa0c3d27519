/**
 * Which rows of each of its tables a statement can need, by the conditions that stand beside the
 * table.
 *
 * It is sound, not complete: a row for which the statement's answer could be another is always
 * inside. Two kinds of conjuncts count. One is those of the WHERE of the same SELECT. The other is
 * those of an ON of joins around the table that drop a row which does not meet it. They name the
 * table's columns and nothing else, so leaving a row out changes no other row's fate. A predicate
 * is never met by NULL, so rows that an outer join fills in for a left-out one are dropped as well.
 * Not read: conditions of other SELECTs (around a subquery, in HAVING, QUALIFY, FILTER), FULL and
 * other joins, samples, renamed columns.
 */

import type { CachedConnection } from "../statement/statement_cache.ts";
import type { TableReference } from "../gate/gate.ts";
import { listAt, nodeAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import { constantsOf } from "./constants.ts";
import { ALL, allOf, anyOf, type Predicate } from "./predicate.ts";
import { PredicateReader } from "./predicate_reader.ts";

/**
 * Predicates by table name. A table that is not in the map, or of which a reference may need any
 * row, has `all`.
 */
export async function tablePredicates(
  connection: CachedConnection,
  root: TreeNode,
  references: readonly TableReference[],
): Promise<ReadonlyMap<string, Predicate>> {
  const filters = filtersOf(root);
  const conditions = new Set([...filters.values()].flatMap(({ conditions }) => conditions));
  if (conditions.size === 0) return new Map();
  const constants = await constantsOf(connection, [...conditions]);
  const byReference = references.map(({ table, node }) => {
    const filter = filters.get(node);
    if (filter === undefined) return { table, predicate: ALL };
    const reader = new PredicateReader({ reference: node, alone: filter.alone }, constants);
    return { table, predicate: allOf(filter.conditions.map((one) => reader.whenTrue(one))) };
  });
  const byTable = Map.groupBy(byReference, ({ table }) => table);
  return new Map(
    [...byTable].map(([table, own]) => [table, anyOf(own.map(({ predicate }) => predicate))]),
  );
}

interface Filter {
  /** Conditions, each of which drops the rows of the table that do not meet it. */
  readonly conditions: readonly TreeNode[];
  /** Whether the table is the only one in FROM. */
  readonly alone: boolean;
}

/** Filters by their `BASE_TABLE` node. */
function filtersOf(root: TreeNode): Map<TreeNode, Filter> {
  const filters = new Map<TreeNode, Filter>();
  walk(root, (node) => {
    const from = textAt(node, "type") === "SELECT_NODE" ? nodeAt(node, "from_table") : undefined;
    // USING SAMPLE draws from the rows before WHERE: leaving some out would change the draw.
    if (from === undefined || nodeAt(node, "sample") !== undefined) return;
    const where = nodeAt(node, "where_clause");
    const alone = textAt(from, "type") === "BASE_TABLE";
    for (const { reference, conditions } of filtered(from, where === undefined ? [] : [where])) {
      if (conditions.length > 0) filters.set(reference, { conditions, alone });
    }
  });
  return filters;
}

interface FilteredTable {
  readonly reference: TreeNode;
  readonly conditions: readonly TreeNode[];
}

/**
 * The tables of a FROM item whose rows `conditions` filter, with those that joins within it add.
 */
function filtered(from: TreeNode, conditions: readonly TreeNode[]): FilteredTable[] {
  const type = textAt(from, "type");
  if (nodeAt(from, "sample") !== undefined) return [];
  if (type === "BASE_TABLE") {
    const plain = listAt(from, "column_name_alias").length === 0;
    return plain ? [{ reference: from, conditions }] : [];
  }
  const join = type === "JOIN" && ["REGULAR", "CROSS"].includes(textAt(from, "ref_type"))
    ? textAt(from, "join_type")
    : "";
  if (!["INNER", "LEFT", "RIGHT"].includes(join)) return [];
  const on = nodeAt(from, "condition");
  const within = on === undefined ? conditions : [...conditions, on];
  const [left, right] = [nodeAt(from, "left"), nodeAt(from, "right")];
  return [
    // Rows of an outer join's own side stay when its ON does not hold.
    ...(left === undefined ? [] : filtered(left, join === "LEFT" ? conditions : within)),
    ...(right === undefined ? [] : filtered(right, join === "RIGHT" ? conditions : within)),
  ];
}

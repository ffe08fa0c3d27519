/**
 * The subqueries of a statement that are run before it, so that their rows can take their places
 * as constants. Then indexes, bounds and summaries know what the statement looks for. README.md,
 * "Subqueries first".
 */

import { attributeCall } from "../plan/attribute_calls.ts";
import type { TablePlan } from "../plan/plan.ts";
import type { Planned } from "../plan/plan_statement.ts";
import type { FrozenTables } from "../shards/shard.ts";
import type { Statement } from "../statement/parse.ts";
import { columnNames, leavesOf, lower, qualifierOf } from "../statement/scope_walker.ts";
import {
  copiedDocument,
  listAt,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";
import { findSubqueries, type FoundSubquery } from "./find_subqueries.ts";

/** A statement with subqueries that can be run before it. */
export interface FirstSubqueries {
  /** Its tree as it was parsed, which is nobody else's. */
  readonly document: TreeNode;
  readonly root: TreeNode;
  readonly found: readonly FoundSubquery[];
}

/** Subqueries with the tables as their statement found them. Whoever has it holds the leases. */
export interface PlannedSubqueries extends FirstSubqueries {
  readonly frozen: FrozenTables;
  /** The snapshot pin of them all, where the request gave one. */
  readonly pin: string | undefined;
  /** Lower-cased names of the tables' columns. */
  readonly columns: ReadonlySet<string>;
}

/** Returns the statement's, of a copy of its tree; undefined: it has none. Pure. */
export function firstSubqueries({ document }: Statement): FirstSubqueries | undefined {
  if (!someNode(document, isNesting) || someNode(document, isCollation)) return undefined;
  const copy = copiedDocument(document);
  const found = findSubqueries(copy.root);
  return found.length === 0 ? undefined : { ...copy, found };
}

/** A query, a join or a WITH, or what can want the first row of each group. */
function isNesting(node: TreeNode): boolean {
  return ["SUBQUERY", "WINDOW"].includes(textAt(node, "class")) ||
    ["DISTINCT_MODIFIER", "JOIN", "SUBQUERY"].includes(textAt(node, "type")) ||
    nodesAt(nodeAt(node, "cte_map") ?? {}, "map").length > 0;
}

/** A text that is written into a statement has lost its collation. */
function isCollation(node: TreeNode): boolean {
  return textAt(node, "class") === "COLLATE";
}

/**
 * Leaves those whose places constants can take, once the tables are known; undefined: none. A list
 * means what a subquery means where IN compares texts. Pure.
 */
export function plannedSubqueries(
  { found, ...first }: FirstSubqueries,
  { planned: tables, frozen, pin }: Pick<Planned, "planned" | "frozen" | "pin">,
): PlannedSubqueries | undefined {
  const wanted = found.flatMap((one) => usable(one, tables));
  if (wanted.length === 0) return undefined;
  const columns = new Set(
    tables.flatMap(({ schema }) => schema.columns.map(({ name }) => lower(name))),
  );
  return { ...first, found: wanted, frozen, pin, columns };
}

function usable(found: FoundSubquery, tables: readonly TablePlan[]): FoundSubquery[] {
  switch (found.place) {
    case "value":
      return [found];
    case "list":
      return isText(found.compared, found.from, tables) ? [found] : [];
    case "edge":
      return typeOf("timestamp", found.item, tables) === "timestamptz" ? [found] : [];
    case "joined":
      return isText(found.equal.compared, found.equal.from, tables) ? [found] : [];
    case "rows": {
      const equal = found.equal.filter(({ compared, from }) => isText(compared, from, tables));
      return equal.length === 0 ? [] : [{ ...found, equal }];
    }
  }
}

function isText(node: TreeNode, from: TreeNode, tables: readonly TablePlan[]): boolean {
  if (attributeCall(node) !== undefined) return true;
  const [first, second, ...more] = columnNames(node);
  if (first === undefined || more.length > 0) return false;
  const items = leavesOf(from).filter((item) =>
    second === undefined || lower(qualifierOf(item)) === first
  );
  const types = items.map((item) => typeOf(second ?? first, item, tables));
  return types.includes("string") && types.every((type) => type === "string" || type === "none");
}

/** The type of a column of an item of FROM; `none`: it has none of that name. */
function typeOf(name: string, item: TreeNode, tables: readonly TablePlan[]): string {
  const called = lower(textAt(item, "table_name"));
  const table = tables.find((one) => one.name === called);
  const isTable = textAt(item, "type") === "BASE_TABLE" && table !== undefined &&
    listAt(item, "column_name_alias").length === 0;
  if (!isTable) return "unknown";
  return table.schema.columns.find((column) => lower(column.name) === name)?.type ?? "none";
}

/**
 * Tells which columns of a table a statement can need, and never too few. The statement is priced
 * with them. Copies of rows that are closer at hand than files have no others.
 */

import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { servingSources } from "./made_columns.ts";
import { isWhole, type TablePlan } from "./plan.ts";
import { listAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

/**
 * Returns the names that the statement mentions as columns, lower-cased; undefined when it may take
 * all (`*`, `#2`, PIVOT). Mentions of `besides` do not count.
 */
export function namedColumns(
  root: TreeNode,
  besides: ReadonlySet<TreeNode> = new Set(),
): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  const last = new Set<string>();
  const tables = new Set<string>();
  let all = false;
  walk(root, (node) => {
    const kind = textAt(node, "class");
    if (kind === "STAR" || kind === "POSITIONAL_REFERENCE") all = true;
    if (kind === "COLUMN_REF" && !besides.has(node)) {
      const parts = listAt(node, "column_names").map((name) => String(name).toLowerCase());
      for (const name of parts) names.add(name);
      last.add(parts.at(-1) ?? "");
    }
    if (textAt(node, "type") === "JOIN") {
      for (const name of listAt(node, "using_columns")) names.add(String(name).toLowerCase());
      if (textAt(node, "ref_type") === "NATURAL") all = true;
    }
    // It groups by all columns that it does not name, and UNPIVOT names them as texts.
    if (textAt(node, "type") === "PIVOT") all = true;
    if (textAt(node, "type") === "BASE_TABLE") {
      if (listAt(node, "column_name_alias").length > 0) all = true;
      tables.add((textAt(node, "alias") || textAt(node, "table_name")).toLowerCase());
    }
  });
  // A table's own name as a column means the whole row.
  return all || [...tables].some((table) => last.has(table)) ? undefined : names;
}

/** Whether the statement may mention a column of that lower-cased name, as `namedColumns` tells. */
export function isNamed(name: string, root: TreeNode, besides: ReadonlySet<TreeNode>): boolean {
  return namedColumns(root, besides)?.has(name) ?? true;
}

/**
 * Returns the columns of a table's files that the statement can need. Where it names a column that
 * is made of attributes, these are what files make it of.
 */
export function projectedOf(
  table: Pick<TablePlan, "schema" | "stored" | "made" | "files" | "delta" | "isComplete">,
  named: ReadonlySet<string> | undefined,
): readonly Column[] {
  return storedColumnsOf(table, projectedColumns(table.schema, named));
}

/** Returns the columns of a table's files that `columns` are, or are made of. */
export function storedColumnsOf(
  table: Pick<TablePlan, "stored" | "made" | "files" | "delta" | "isComplete">,
  columns: readonly Column[],
): readonly Column[] {
  const { stored, made } = table;
  if (!columns.some(({ name }) => made.has(name))) return columns;
  const reads = columns.flatMap(({ name }) => {
    const own = made.get(name);
    if (own === undefined) return [name];
    const serving = servingSources(own);
    const isAll = isWhole(table, serving);
    if (own.form === "choice") return [...own.cheap.reads, ...isAll ? [] : own.dear.reads];
    const sources = isAll ? serving : own.sources;
    const names = sources.map((source) => source.name);
    return isAll ? names : [...names, ATTRIBUTES];
  });
  const wanted = new Set(reads);
  return stored.columns.filter(({ name }) => wanted.has(name));
}

/** Returns the tables of a statement that was changed, which may name other columns now. */
export function projectedAnew(
  tables: readonly TablePlan[],
  root: TreeNode,
): readonly TablePlan[] {
  const named = namedColumns(root);
  return tables.map((table) => ({ ...table, projected: projectedOf(table, named) }));
}

/**
 * Returns the columns of `schema` whose lower-cased names are in `named`, in their order; all
 * columns when `named` is undefined.
 */
export function projectedColumns(
  schema: TableSchema,
  named: ReadonlySet<string> | undefined,
): readonly Column[] {
  return named === undefined
    ? schema.columns
    : schema.columns.filter((column) => named.has(column.name.toLowerCase()));
}

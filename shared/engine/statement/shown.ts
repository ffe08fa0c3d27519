/**
 * DESCRIBE, SHOW TABLES and SUMMARIZE. Each is answered by a SELECT that is written for it.
 * DESCRIBE and SUMMARIZE look at the columns of a query first, as they are once it is prepared.
 */

import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "./syntax_tree.ts";

/** A statement that shows how something is. */
export type Shown =
  | { readonly kind: "describe" | "summarize"; readonly query: TreeNode }
  /** `isWide`: with the columns of each, as `SHOW ALL TABLES`. */
  | { readonly kind: "tables"; readonly isWide: boolean };

/** A column of what is described. */
interface ShownColumn {
  readonly name: string;
  /** DuckDB's name. */
  readonly type: string;
}

/** Returns what a whole statement shows; undefined for any other, and for all within others. */
export function shownOf(root: TreeNode): Shown | undefined {
  const from = nodeAt(root, "from_table") ?? {};
  if (textAt(from, "type") !== "SHOW_REF" || !isPlain(root)) return undefined;
  const query = nodeAt(from, "query");
  if (query === undefined) {
    const name = textAt(from, "table_name");
    if (name === "__show_tables_expanded") return { kind: "tables", isWide: true };
    return name === '"tables"' ? { kind: "tables", isWide: false } : undefined;
  }
  return { kind: textAt(from, "show_type") === "SUMMARY" ? "summarize" : "describe", query };
}

/** Whether nothing is done with what is shown. The parser makes `SELECT * FROM (…)` of it. */
function isPlain(root: TreeNode): boolean {
  const [item, ...more] = nodesAt(root, "select_list");
  return item !== undefined && more.length === 0 && textAt(item, "class") === "STAR" &&
    nodeAt(root, "where_clause") === undefined && nodeAt(root, "sample") === undefined &&
    listAt(root, "modifiers").length === 0 && listAt(root, "group_expressions").length === 0;
}

/** Returns the SELECT that answers `SHOW TABLES` or `SHOW ALL TABLES`. */
export function tablesSql({ isWide }: { readonly isWide: boolean }): string {
  if (!isWide) return "SELECT table_name AS name FROM information_schema.tables ORDER BY name";
  return "SELECT table_catalog AS database, table_schema AS schema, table_name AS name, " +
    "list(column_name ORDER BY ordinal_position) AS column_names, " +
    "list(data_type ORDER BY ordinal_position) AS column_types, false AS temporary " +
    "FROM information_schema.columns GROUP BY ALL ORDER BY name";
}

/** Returns the SELECT that answers `DESCRIBE` of a query with these columns. */
export function describeSql(columns: readonly ShownColumn[]): string {
  const texts = (of: (column: ShownColumn) => string) =>
    `unnest([${columns.map((column) => quoteText(of(column))).join(", ")}])`;
  return `SELECT ${texts(({ name }) => name)} AS column_name, ` +
    `${texts(({ type }) => type)} AS column_type, 'YES' AS "null", NULL::VARCHAR AS "key", ` +
    'NULL::VARCHAR AS "default", NULL::VARCHAR AS extra';
}

/** A measure of SUMMARIZE: its name, its type, and what it is of a column. */
type Measure = readonly [name: string, of: (column: string, type: string) => string];

const NONE = "NULL::VARCHAR";
const quantile = (share: number): Measure[1] => (column, type) =>
  isNumber(type) || isTime(type) ? `approx_quantile(${column}, ${share})::VARCHAR` : NONE;

const MEASURES: readonly Measure[] = [
  ["min", (column, type) => isOrdered(type) ? `min(${column})::VARCHAR` : NONE],
  ["max", (column, type) => isOrdered(type) ? `max(${column})::VARCHAR` : NONE],
  ["approx_unique", (column) => `approx_count_distinct(${column})`],
  ["avg", (column, type) => isNumber(type) || isTime(type) ? `avg(${column})::VARCHAR` : NONE],
  ["std", (column, type) => isNumber(type) ? `stddev(${column})::VARCHAR` : NONE],
  ["q25", quantile(0.25)],
  ["q50", quantile(0.5)],
  ["q75", quantile(0.75)],
  ["count", () => "count(*)"],
  [
    "null_percentage",
    (column) => `((count(*) - count(${column})) * 100.0 / nullif(count(*), 0))::DECIMAL(9, 2)`,
  ],
];

/**
 * Returns the SELECT that answers `SUMMARIZE` of a query: a row for each of its columns, with what
 * DuckDB's own SUMMARIZE has. It takes one scan. `query`: its text.
 */
export function summarizeSql(query: string, columns: readonly ShownColumn[]): string {
  const names = columns.map((_, at) => quoteName(`c${at}`));
  const measured = MEASURES.map(([name, of]) =>
    `[${columns.map(({ type }, at) => of(names[at] ?? "", type)).join(", ")}] AS ${quoteName(name)}`
  );
  const list = (of: (column: ShownColumn) => string) =>
    `unnest([${columns.map((column) => quoteText(of(column))).join(", ")}])`;
  const unnested = MEASURES.map(([name]) => `unnest(${quoteName(name)}) AS ${quoteName(name)}`);
  return `SELECT ${list(({ name }) => name)} AS column_name, ` +
    `${list(({ type }) => type)} AS column_type, ${unnested.join(", ")} ` +
    `FROM (SELECT ${measured.join(", ")} FROM (${query}) AS summarized(${names.join(", ")}))`;
}

function isNumber(type: string): boolean {
  return /^(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\([^[]*\))$/.test(type);
}

function isTime(type: string): boolean {
  return /^(?:DATE|TIME|TIMESTAMP(?:_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE)$/.test(type);
}

function isOrdered(type: string): boolean {
  return isNumber(type) || isTime(type) || /^(?:VARCHAR|BOOLEAN|UUID|INTERVAL|BLOB)$/.test(type);
}

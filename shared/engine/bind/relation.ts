/**
 * Writes a table plan as SQL: the SELECT that stands for the table while one statement runs.
 * Columns are matched by Iceberg field id, so a column that was added, renamed or moved is read
 * correctly from older files.
 *
 * Whole files share one `read_parquet`, which keeps its parallelism and its pruning by statistics.
 * Files that lack a promoted column share another one. Each part of a file has a `read_parquet` of
 * its own. UNION ALL BY NAME joins them: in that form DuckDB skips what is left out.
 */

import { assert } from "../../base/assert.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import {
  firstPlace,
  isCompleteIn,
  isRead,
  type RowRange,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import { madeSql, type SqlWriter } from "../plan/made_columns.ts";
import { blocksOf, RANGES_MAX, runsOf } from "../pruning/row_blocks.ts";
import { type BindText, quoteName, quoteText } from "../duckdb/statement_text.ts";
import { receivedSql } from "./received_sql.ts";
import { readRowsSql } from "./rows_sql.ts";

/**
 * Returns a SELECT of the columns of the plan's table that the statement can need, over what the
 * plan reads.
 */
export function relationSql(plan: TablePlan, bind: BindText = quoteText): string {
  if (plan.received !== undefined) return receivedSql(plan.received, plan.parts);
  const { columns } = plan.schema;
  const rows = plan.parts.filter(isRead);
  const stored = plan.parts.filter((part) => !isRead(part));
  const isApart = (part: ScanPart) => plan.place !== undefined || !isWhole(part);
  const whole = stored.filter((part) => !isApart(part));
  const ranges = stored.filter(isApart);
  const reader = columnReader(plan);
  const read = (part: ScanPart) => {
    const columns = reader(part);
    // DuckDB would read a missing column as NULL.
    assert(!lacksAny(part, columns), "the rows of the WAL have the columns that are read");
    return columns;
  };
  const first = (part: ScanPart) => firstPlace(plan.parts.indexOf(part));
  const scans = [
    ...Map.groupBy(whole, read).entries().map(([columns, parts]) =>
      wholeFilesSql(parts, columns, bind)
    ),
    ...ranges.map((part) => {
      const place = `${first(part)} + file_row_number`;
      return rowRangeSql(part, withPlace(read(part), plan, place), bind);
    }),
    ...Map.groupBy(rows, read).entries().map(([{ list, columns }, parts]) => {
      const placed = parts.map((part) => ({ read: part.source, firstPlace: first(part) }));
      const { place } = plan;
      const all = place === undefined ? list : `${list}, ${quoteName(place)}`;
      return `SELECT ${all} FROM (${readRowsSql(placed, { columns, place }, bind)})`;
    }),
  ];
  return scans.length > 0 ? scans.join(" UNION ALL BY NAME ") : emptySql(columns);
}

/** The columns of a part, with the place of each row, written as `sql`, where the plan wants it. */
function withPlace(columns: ReadColumns, { place }: TablePlan, sql: string): ReadColumns {
  if (place === undefined) return columns;
  return { ...columns, list: `${columns.list}, ${sql} AS ${quoteName(place)}` };
}

/** Whether all rows of a file are read. A scan of its own would be bound for nothing. */
function isWhole({ range, rows, rowNumbers, isTold }: ScanPart): boolean {
  if (range === undefined) return true;
  return range.first === 0 && range.end === rows && !(isTold && rowNumbers !== undefined);
}

/**
 * Returns a function that tells which columns are read of a part. Parts that are read alike get the
 * same object, and in most plans all parts are.
 */
function columnReader(plan: TablePlan): (part: ScanPart) => ReadColumns {
  const sources = [...new Set(plan.made.values().flatMap(({ sources }) => sources))];
  const known = new Map<string, ReadColumns>();
  return (part) => {
    const isComplete = (source: Column) => isCompleteIn(plan, part, source);
    const name = sources.map(isComplete).join();
    const columns = known.get(name) ?? readColumns(plan, { isComplete });
    known.set(name, columns);
    return columns;
  };
}

/** Whether the statement can need a column that rows of the WAL lack (`plan/left_out.ts`). */
export function readsLeftOut(plan: TablePlan): boolean {
  const lacking = plan.parts.filter((part) => leftOutOf(part).length > 0);
  if (lacking.length === 0) return false;
  const read = columnReader(plan);
  return lacking.some((part) => lacksAny(part, read(part)));
}

function lacksAny(part: ScanPart, { columns }: ReadColumns): boolean {
  return leftOutOf(part).some(({ id }) => columns.some((column) => column.id === id));
}

function leftOutOf(part: ScanPart): readonly Column[] {
  return part.origin === "delta" ? part.delta.leftOut ?? [] : [];
}

interface ReadColumns {
  /** The select list, as SQL. */
  readonly list: string;
  /** Columns that are read of the files; `schema` has them as SQL. */
  readonly columns: readonly Column[];
  readonly schema: string;
}

/**
 * Lists the columns that the statement can need (`plan/projection.ts`). DuckDB binds each column
 * that is listed, in the schema and once more in the list: for 18 columns that takes as long as the
 * scan of 10,000 rows.
 *
 * Where a statement needs no column, the first one stands there as NULL: a select list has at least
 * one.
 */
function readColumns(
  { schema, stored, made, projected }: TablePlan,
  /** `isComplete`: whether a promoted column is complete in the part. */
  { isComplete }: { readonly isComplete: (source: Column) => boolean },
): ReadColumns {
  const isNeeded = ({ id }: Column) => needed.has(id);
  const needed = new Set(projected.map(({ id }) => id));
  const listed = schema.columns.map((column) => {
    const own = made.get(column.name);
    if (own === undefined) return storedColumn(column);
    const { sql, reads } = madeSql(own, { type: column.type, isComplete, write: SQL_WRITER });
    return {
      ...column,
      sql: sql === quoteName(column.name) ? sql : `${sql} AS ${quoteName(column.name)}`,
      reads: stored.columns.filter(({ name }) => reads.includes(name)),
    };
  }).filter(({ reads }) => reads.every(isNeeded));
  const read = [...new Set(listed.flatMap(({ reads }) => reads))];
  const [first] = schema.columns;
  return {
    list: listed.length > 0 || first === undefined
      ? listed.map(({ sql }) => sql).join(", ")
      : nullSql(first),
    columns: read,
    // A schema has at least one column; it is not read when the list leaves it out.
    schema: schemaSql(read.length > 0 ? read : schema.columns.slice(0, 1)),
  };
}

/** A column as a select list has it. */
interface ListedColumn extends Pick<Column, "name" | "type"> {
  readonly sql: string;
  /** Columns of the files that it is made of. */
  readonly reads: readonly Column[];
}

function storedColumn(column: Column): ListedColumn {
  const { name, type } = column;
  return { name, type, sql: quoteName(name), reads: [column] };
}

/** How made columns are written. */
export const SQL_WRITER: SqlWriter = {
  name: quoteName,
  text: quoteText,
  type: (type) => SQL_TYPES[type],
};

/**
 * The first path is bound. DuckDB plans a statement when it is prepared, and once more when it
 * runs, since it reads files. A path that is not known yet leaves just the second time.
 */
function wholeFilesSql(
  parts: readonly ScanPart[],
  { list, schema }: ReadColumns,
  bind: BindText,
): string {
  const paths = parts.map((part, at) => (at === 0 ? bind : quoteText)(readPath(part))).join(", ");
  return `SELECT ${list} FROM read_parquet([${paths}], schema = ${schema}${cardinality(parts)})`;
}

function rowRangeSql(part: ScanPart, { list, schema }: ReadColumns, bind: BindText): string {
  const { first, end } = part.range ?? { first: 0, end: part.rows };
  const numbers = part.isTold ? part.rowNumbers : undefined;
  const only = numbers === undefined ? "" : ` AND ${rowsSql(numbers, { first, end })}`;
  const scan = `SELECT ${list} FROM read_parquet([${bind(readPath(part))}], ` +
    `schema = ${schema}, file_row_number = true${cardinality([part])}) ` +
    `WHERE file_row_number >= ${first} AND file_row_number < ${end}${only}`;
  // The limit drops no row. It keeps the statement's conditions out of the scan, which would
  // evaluate them on every row.
  return numbers === undefined ? scan : `SELECT * FROM (${scan} LIMIT ${numbers.length})`;
}

/** Returns the path of the file that is read for a part: its data file, or a copy of it. */
function readPath(part: ScanPart): string {
  return part.origin === "file" && part.source.kind === "copy" ? part.source.path : part.path;
}

/**
 * Returns a SELECT of all rows of one file, with `columns`. A column with the name `position` has
 * each row's place in the file, from 0.
 */
export function fileSql(
  part: Pick<ScanPart, "path" | "rows">,
  columns: readonly Column[],
  position: string,
): string {
  const names = columns.map(({ name }) => quoteName(name)).join(", ");
  return `SELECT ${names}, file_row_number AS ${quoteName(position)} ` +
    `FROM read_parquet([${quoteText(part.path)}], schema = ${schemaSql(columns)}, ` +
    `file_row_number = true${cardinality([part])})`;
}

/**
 * Returns the condition that chooses `rows` of `range`: a few ranges, or the blocks of rows that an
 * index knows.
 */
function rowsSql(rows: Uint32Array, range: RowRange): string {
  const runs = runsOf(rows);
  if (runs.length <= RANGES_MAX && runs.length < rows.length) {
    const ranges = runs.map(({ first, last }) => `file_row_number BETWEEN ${first} AND ${last}`);
    return `(${ranges.join(" OR ")})`;
  }
  const { shift, numbers } = blocksOf(runs, range);
  const block = shift === 0 ? "file_row_number" : `(file_row_number >> ${shift})`;
  return `${block} IN (${numbers.join(", ")})`;
}

/**
 * Returns the argument that tells DuckDB how many rows the files have. With a schema of ours DuckDB
 * opens no file to plan, and would take each file for one row. Join orders need to know better, and
 * so do the counts that a breaker watches (`shared/engine/duckdb/rows_breaker.ts`).
 */
function cardinality(
  parts: readonly (Pick<ScanPart, "rows"> & Partial<Pick<ScanPart, "rowNumbers" | "isTold">>)[],
): string {
  const rows = parts.reduce(
    (sum, { rows, rowNumbers, isTold }) => sum + (isTold ? rowNumbers?.length ?? rows : rows),
    0,
  );
  return rows === 0 ? "" : `, explicit_cardinality = ${rows}`;
}

/** Returns a SELECT with these columns and no row. */
export function emptySql(columns: readonly Column[]): string {
  return `SELECT ${columns.map(nullSql).join(", ")} WHERE false`;
}

function nullSql({ name, type }: Column): string {
  return `NULL::${SQL_TYPES[type]} AS ${quoteName(name)}`;
}

function schemaSql(columns: readonly Column[]): string {
  const entries = columns.map((column) =>
    `${column.id}: {name: ${quoteText(column.name)}, type: '${SQL_TYPES[column.type]}', ` +
    "default_value: NULL}"
  );
  return `MAP {${entries.join(", ")}}`;
}

/** DuckDB's name of each column type. */
export const SQL_TYPES: Readonly<Record<ColumnType, string>> = {
  timestamptz: "TIMESTAMPTZ",
  long: "BIGINT",
  int: "INTEGER",
  double: "DOUBLE",
  bool: "BOOLEAN",
  string: "VARCHAR",
};

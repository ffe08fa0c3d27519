/**
 * A table plan as SQL: what stands for the table while one statement runs. Columns are matched by
 * Iceberg field id, so a column that was added, renamed or moved is read right from older files.
 *
 * Whole files share one `read_parquet`, which keeps its parallelism and its pruning by statistics. Parts of
 * files get one each, joined by UNION ALL BY NAME, the form in which the engine skips what is left out.
 */

import type { Column, ColumnType } from "../event/schema.ts";
import type { RowRange, ScanPart, TablePlan } from "./plan.ts";
import { blocksOf, RANGES_MAX, runsOf } from "./pruning/row_blocks.ts";
import { NOT_AT_HAND, quoteName, quoteText } from "./statement_text.ts";

/** SELECT of every column of the plan's table, over what the plan reads. */
export function relationSql(plan: TablePlan): string {
  const { columns } = plan.schema;
  const whole = plan.parts.filter((part) => part.range === undefined);
  const ranges = plan.parts.filter((part) => part.range !== undefined);
  const read = readColumns(plan);
  const scans = [
    ...(whole.length > 0 ? [wholeFilesSql(whole, read)] : []),
    ...ranges.map((part) => rowRangeSql(part, read)),
  ];
  return scans.length > 0 ? scans.join(" UNION ALL BY NAME ") : emptySql(columns);
}

/** As SQL: the select list, and the columns as the files have them. */
interface ReadColumns {
  readonly list: string;
  readonly schema: string;
}

/**
 * All columns, those that are not at hand as an error: a statement that was thought not to need one fails, and no scan
 * can come to read it. They stand last, and the very first is never one: a scan that needs no column of a UNION
 * still takes the first. Where that moves columns the statement takes none by its place, since `*` needs all.
 */
function readColumns({ schema: { columns }, columnsAtHand }: TablePlan): ReadColumns {
  const isAtHand = ({ id }: Column) => columnsAtHand?.has(id) ?? true;
  const atHand = columns.filter(isAtHand);
  const others = columns.filter((column) => !isAtHand(column)).map((column, at) => {
    const value = at === 0 && atHand.length === 0
      ? "NULL"
      : `error(${quoteText(`${NOT_AT_HAND} ${column.name}`)})`;
    return `${value}::${SQL_TYPES[column.type]} AS ${quoteName(column.name)}`;
  });
  return {
    list: [...atHand.map((column) => quoteName(column.name)), ...others].join(", "),
    // A schema has at least one column; it is not read when the list leaves it out.
    schema: schemaSql(atHand.length > 0 ? atHand : columns.slice(0, 1)),
  };
}

function wholeFilesSql(parts: readonly ScanPart[], { list, schema }: ReadColumns): string {
  const paths = parts.map((part) => quoteText(part.path)).join(", ");
  return `SELECT ${list} FROM read_parquet([${paths}], schema = ${schema}${cardinality(parts)})`;
}

function rowRangeSql(part: ScanPart, { list, schema }: ReadColumns): string {
  const { first, end } = part.range ?? { first: 0, end: part.rows };
  const numbers = part.rowNumbers;
  const only = numbers === undefined ? "" : ` AND ${rowsSql(numbers, { first, end })}`;
  const scan = `SELECT ${list} FROM read_parquet([${quoteText(part.path)}], ` +
    `schema = ${schema}, file_row_number = true${cardinality([part])}) ` +
    `WHERE file_row_number >= ${first} AND file_row_number < ${end}${only}`;
  // The limit drops none: it keeps the statement's conditions out of the scan, which would evaluate them on every row.
  return numbers === undefined ? scan : `SELECT * FROM (${scan} LIMIT ${numbers.length})`;
}

/** SELECT of all of one file's rows with `columns`, and as `position` each one's place in the file. */
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

/** Rows of `range`: a few ranges, or the blocks of rows that an index knows. */
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
 * With a schema of ours the SQL engine opens no file to plan, and would take each for one row: join orders and
 * the counts that a breaker watches (`rows_breaker.ts`) need to know better.
 */
function cardinality(parts: readonly Pick<ScanPart, "rows" | "rowNumbers">[]): string {
  const rows = parts.reduce((sum, part) => sum + (part.rowNumbers?.length ?? part.rows), 0);
  return rows === 0 ? "" : `, explicit_cardinality = ${rows}`;
}

/** No row of these columns. */
export function emptySql(columns: readonly Column[]): string {
  const nulls = columns.map((column) =>
    `NULL::${SQL_TYPES[column.type]} AS ${quoteName(column.name)}`
  );
  return `SELECT ${nulls.join(", ")} WHERE false`;
}

function schemaSql(columns: readonly Column[]): string {
  const entries = columns.map((column) =>
    `${column.id}: {name: ${quoteText(column.name)}, type: '${SQL_TYPES[column.type]}', ` +
    "default_value: NULL}"
  );
  return `MAP {${entries.join(", ")}}`;
}

/** The SQL engine's name of each column type. */
export const SQL_TYPES: Readonly<Record<ColumnType, string>> = {
  timestamptz: "TIMESTAMPTZ",
  long: "BIGINT",
  int: "INTEGER",
  double: "DOUBLE",
  bool: "BOOLEAN",
  string: "VARCHAR",
};

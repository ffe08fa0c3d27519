/**
 * Rows of a WAL segment in the columns of their table: the segment was written with the schema that
 * the ingester knew, the table may have gained columns since.
 *
 * Columns meet by name; one that another program renamed in the table, by field id. A column that
 * the segment lacks is null. Anything that would lose a value is `unprocessable`: such a segment is
 * set aside whole. A column of this program's own tables that the table lacks is
 * `precondition_failed`: the table is older than the program.
 */

import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import { nullColumn } from "../columns/null_column.ts";
import { BUILT_IN_TABLES } from "../schema/built_in_tables.ts";
import type { Column, ColumnType, TableSchema } from "../schema/schema.ts";

/** Turns batches of one schema into another's. */
export type BatchFit = (batch: ColumnBatch) => ColumnBatch;

/**
 * Errors: `unprocessable` when `table` cannot hold every value of `columns`; `precondition_failed`
 * (`schema_gate`).
 */
export function fitTo(table: TableSchema, columns: readonly Column[]): BatchFit {
  const sources = table.columns.map((column) => sourceOf(column, columns));
  for (const [at, column] of columns.entries()) {
    if (sources.includes(at)) continue;
    throw isOlder(table, column)
      ? olderTable(column)
      : misfit(`its column ${nameOf(column)} is not in the table`);
  }
  if (sources.length === columns.length && sources.every((source, at) => source === at)) {
    return (batch) => ({ ...batch, schema: table });
  }
  const nulls = new Map<ColumnType, ColumnData>();
  let nullRows = -1;
  return (batch) => {
    // Batches mostly have as many rows as the one before.
    if (batch.rows !== nullRows) nulls.clear();
    nullRows = batch.rows;
    const columns = table.columns.map(({ type }, at) => {
      const column = batch.columns[sources[at] ?? -1] ?? nulls.get(type) ??
        nullColumn(type, batch.rows);
      if (sources[at] === undefined) nulls.set(type, column);
      return column;
    });
    return { schema: table, rows: batch.rows, columns };
  };
}

/**
 * The schema of a table that is made for segments with `columns`: a built-in one, which also has
 * tags and docs, when it has these very columns. A lane may have any name: several hold rows shaped
 * like `events`.
 */
export function schemaForNewTable(columns: readonly Column[]): TableSchema {
  for (const schema of BUILT_IN_TABLES.values()) {
    if (areSame(schema.columns, columns)) return schema;
  }
  return { columns, tags: [] };
}

function areSame(known: readonly Column[], columns: readonly Column[]): boolean {
  return known.length === columns.length && known.every((column, at) => {
    const other = columns[at];
    return other?.name === column.name && isSame(column, other);
  });
}

/** Index among `columns` of the table's column; undefined when it is to be null. */
function sourceOf(column: Column, columns: readonly Column[]): number | undefined {
  const named = columns.findIndex((other) => other.name === column.name);
  const at = named >= 0 ? named : columns.findIndex((other) => other.id === column.id);
  const source = columns[at];
  if (source === undefined) {
    if (!column.required) return undefined;
    throw misfit(`it lacks the required column ${nameOf(column)}`);
  }
  if (source.type !== column.type) {
    throw misfit(`its column ${nameOf(source)} is ${source.type}, the table's is ${column.type}`);
  }
  if (column.required && !source.required) {
    throw misfit(`its column ${nameOf(source)} may be null, the table's may not`);
  }
  return at;
}

/** Whether the table is a built-in one without a column that this program gives it. */
function isOlder(table: TableSchema, column: Column): boolean {
  const own = table.columns.filter(({ name }) => table.promoted?.includes(name) !== true);
  return [...BUILT_IN_TABLES.values()].some(({ columns }) => {
    const has = (wanted: Column) =>
      columns.some((known) =>
        known.id === wanted.id && known.name === wanted.name && known.type === wanted.type
      );
    return has(column) && own.every(has);
  });
}

/**
 * The fault is the table's, not the segment's: the segment waits, and fits once the table has the
 * column.
 */
function olderTable(column: Column): OperatingError {
  return new OperatingError(
    "precondition_failed",
    `Cannot write column ${nameOf(column)}: the table is of an earlier version and lacks it; run ` +
      "svc migrate-schema --all-tables --all-namespaces. The rows wait in the WAL",
    { reason: "schema_gate" },
  );
}

function isSame(a: Column, b: Column): boolean {
  return a.id === b.id && a.type === b.type && a.required === b.required;
}

function nameOf(column: Column): string {
  return `${JSON.stringify(column.name)} (id ${column.id})`;
}

function misfit(why: string): OperatingError {
  return new OperatingError("unprocessable", `Cannot put a WAL segment into its table: ${why}`, {
    reason: "schema_mismatch",
  });
}

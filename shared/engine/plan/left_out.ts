/**
 * Which columns of the WAL's rows are converted: a column of long texts that no statement needs is
 * left out. `raw` and `attributes` are nine tenths of what a conversion writes otherwise
 * (docs/measurements/engine.md#rows-of-the-wal-without-long-texts).
 */

import { totalRows } from "../../base/total_rows.ts";
import type { ColumnBatch } from "../../columns/batch.ts";
import { attributeOf, ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";

/** Average bytes of a value from which on its column is left out: others are cheap to write. */
const LONG_TEXT_BYTES = 32;

/** The columns of a table that a statement can need, by field id. */
export interface NeededColumns {
  readonly ids: ReadonlySet<number>;
  /**
   * For each attribute that it names, the promoted columns that hold it. Where none of them is
   * complete, it needs `attributes`.
   */
  readonly holders: readonly (readonly number[])[];
}

/** What a statement names of a table. */
export interface NamedOfTable {
  /** Lower-cased names of columns, without those that just calls of attributes look into. */
  readonly columns: ReadonlySet<string>;
  /** The attributes that calls name. */
  readonly attributes: ReadonlySet<string>;
  /** The promoted columns that it can need. */
  readonly promoted: readonly Column[];
}

/** Returns the columns of a table with that schema that a statement can need. */
export function neededColumns(
  { columns }: TableSchema,
  { columns: named, attributes, promoted }: NamedOfTable,
): NeededColumns {
  const holders = Map.groupBy(promoted, ({ name }) => attributeOf(name));
  const readsJson = [...attributes].some((attribute) => !holders.has(attribute));
  const needed = columns.filter(({ name }) =>
    named.has(name.toLowerCase()) || readsJson && name.toLowerCase() === ATTRIBUTES
  );
  return {
    ids: new Set(needed.map(({ id }) => id)),
    holders: [...holders.values()].map((all) => all.map(({ id }) => id)),
  };
}

/** What is known of the columns of some rows. */
export interface KnownColumns {
  /** Field ids of the promoted columns that say all that the rows' attributes do. */
  readonly complete: ReadonlySet<number>;
  /** The columns that they lack. Absent: none. */
  readonly leftOut?: readonly Column[] | undefined;
}

/** Whether rows lack a column that is needed; `needed` is undefined where all are. */
export function lacks(
  { complete, leftOut = [] }: KnownColumns,
  needed: NeededColumns | undefined,
): boolean {
  return leftOut.some((column) => isNeeded(column, needed, complete));
}

function isNeeded(
  { id, name }: Column,
  needed: NeededColumns | undefined,
  complete: ReadonlySet<number>,
): boolean {
  if (needed === undefined || needed.ids.has(id)) return true;
  return name === ATTRIBUTES &&
    needed.holders.some((holders) => !holders.some((holder) => complete.has(holder)));
}

/**
 * Leaves columns out of rows, which are at least one. `promoted` columns stay, whoever named them.
 */
export function leaveOut(
  batches: readonly ColumnBatch[],
  { schema, complete, needed }: {
    readonly schema: TableSchema;
    readonly complete: ReadonlySet<number>;
    readonly needed: NeededColumns | undefined;
  },
): {
  readonly batches: readonly ColumnBatch[];
  readonly schema: TableSchema;
  readonly leftOut: readonly Column[];
} {
  const promoted = new Set(schema.promoted);
  const rows = totalRows(batches);
  const isLong = (at: number) =>
    batches.reduce((sum, { columns }) => sum + (columns[at]?.values.byteLength ?? 0), 0) >=
      LONG_TEXT_BYTES * rows;
  const leftOut = schema.columns.filter((column, at) =>
    column.type === "string" && !promoted.has(column.name) &&
    !isNeeded(column, needed, complete) && isLong(at)
  );
  if (leftOut.length === 0) return { batches, schema, leftOut };
  const stays = schema.columns.map((column) => !leftOut.includes(column));
  const rest = { ...schema, columns: schema.columns.filter((_, at) => stays[at]) };
  return {
    batches: batches.map((batch) => ({
      ...batch,
      schema: rest,
      columns: batch.columns.filter((_, at) => stays[at]),
    })),
    schema: rest,
    leftOut,
  };
}

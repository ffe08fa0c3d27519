/**
 * What a table's columns are, independent of Arrow, Parquet and Iceberg, each of which derives its
 * own form from this one.
 *
 * Invariants: column ids are Iceberg field ids and never reused within a table. A table has the
 * columns `timestamp` and `timestamp_ns`, is partitioned by day(timestamp) and sorted by
 * (timestamp, timestamp_ns).
 */

/** `timestamptz` is Unix microseconds UTC; `long` a signed 64-bit integer; `string` UTF-8. */
export type ColumnType = "timestamptz" | "long" | "int" | "double" | "bool" | "string";

/** One column; its id is the Iceberg field id. */
export interface Column {
  /** Iceberg field id, also in Parquet's `field_id`. */
  readonly id: number;
  readonly name: string;
  readonly type: ColumnType;
  readonly required: boolean;
  readonly doc?: string;
}

/** The columns of a table, in their order. */
export interface TableSchema {
  readonly columns: readonly Column[];
  /** Names of the columns by which rows are commonly counted and filtered. */
  readonly tags: readonly string[];
  /**
   * Names of columns that hold an attribute, where it fits (`promoted.ts`); none when absent. Names
   * stay at their place, also of a column that another program dropped.
   */
  readonly promoted?: readonly string[];
  /**
   * How often a table of this name had been dropped when its rows were written; 0 when absent. Rows
   * of an earlier epoch belong to what was dropped.
   */
  readonly epoch?: number;
}

/** The column called `name`; throws when the schema has none. */
export function columnOf(schema: TableSchema, name: string): Column {
  const column = schema.columns.find((candidate) => candidate.name === name);
  if (column === undefined) throw new Error(`schema has no column ${JSON.stringify(name)}`);
  return column;
}

/**
 * By which columns a statement counts rows, where it asks for nothing else of them. Segments of the
 * WAL whose frames tell these are counted, and not converted.
 */

import { attributeOf, ownPromoted } from "../../schema/promoted.ts";
import type { Column, ColumnType, TableSchema } from "../../schema/schema.ts";
import { type SummaryValue, TOLD_ATTRIBUTES } from "../../wal/frame_summary.ts";
import type { SegmentOutline } from "../../wal/types.ts";
import { DIMS_MAX } from "../limits.ts";
import type { RowTally, TalliedRows } from "./row_tally.ts";

/** What a statement that counts rows names of its table. `timestamp` is not among it. */
export interface CountedNames {
  /** Lower-cased names of columns, and of aliases. */
  readonly columns: ReadonlySet<string>;
  readonly attributes: ReadonlySet<string>;
  /** Whether it looks at the minute of `timestamp`. */
  readonly minutes: boolean;
}

/** A column by which rows are counted. */
export interface TallyColumn {
  readonly column: Column;
  /** The attribute that it holds, if it is promoted. */
  readonly attribute: string | undefined;
}

/** What rows are counted by; with no columns and without minutes, their number is all. */
export interface TallyBy {
  readonly columns: readonly TallyColumn[];
  readonly minutes: boolean;
}

/** Rows of a segment by minute and by the values of columns. */
export interface TalliedColumns {
  /** Field ids of the columns. */
  readonly ids: readonly number[];
  readonly cells: readonly TalliedRows[];
}

/** How many rows a segment has, and their times, in Unix nanoseconds, both inclusive. */
export interface CountedRows extends SegmentOutline {
  /** The rows by value. Absent: their number was all that was asked. */
  readonly by?: TalliedColumns;
}

/**
 * What a statement counts rows by, of a table with that schema. Undefined: no frame tells one of
 * the columns, or they are more than a fast path takes together.
 */
export function tallyBy(
  { columns, attributes, minutes }: CountedNames,
  schema: TableSchema,
): TallyBy | undefined {
  const promoted = ownPromoted(schema);
  // A name that is no column's is an alias of what is named besides, or will be refused.
  const named = schema.columns.filter(({ name }) => columns.has(name.toLowerCase()));
  const tags = named.filter((column) => isTag(column, schema) && !promoted.includes(column));
  const holders = promoted.filter((column) =>
    HOLDER_TYPES.has(column.type) &&
    (attributes.has(attributeOf(column.name)) || named.includes(column))
  );
  if (!named.every((column) => tags.includes(column) || holders.includes(column))) return undefined;
  const held = new Set(holders.map(({ name }) => attributeOf(name)));
  if (!attributes.isSubsetOf(held) || !held.isSubsetOf(TOLD_ATTRIBUTES)) return undefined;
  if (tags.length + held.size + (minutes ? 1 : 0) > DIMS_MAX) return undefined;
  return {
    minutes,
    columns: [
      ...tags.map((column) => ({ column, attribute: undefined })),
      ...holders.map((column) => ({ column, attribute: attributeOf(column.name) })),
    ],
  };
}

/** Types of promoted columns that give back what an attribute says. */
const HOLDER_TYPES: ReadonlySet<ColumnType> = new Set(["string", "int", "long"]);

function isTag({ name, type }: Column, { tags }: TableSchema): boolean {
  return type === "string" && tags.includes(name);
}

/** Undefined: frames of the segment, which has `own` columns, do not tell them. */
export function talliedColumns(
  tally: RowTally,
  { by, own }: { readonly by: readonly TallyColumn[]; readonly own: readonly Column[] },
): TalliedColumns | undefined {
  const cells = tally.by(
    by.map(({ column, attribute }) =>
      attribute === undefined
        ? { kind: "column", name: own.find(({ id }) => id === column.id)?.name ?? "" }
        : { kind: "attribute", name: attribute }
    ),
  );
  if (cells === undefined) return undefined;
  const fits = cells.every(({ values }) =>
    by.every(({ column }, at) => isOf(column, values[at] ?? null))
  );
  return fits ? { ids: by.map(({ column }) => column.id), cells } : undefined;
}

function isOf({ type }: Column, value: SummaryValue): boolean {
  return value === null || typeof value === (type === "string" ? "string" : "number");
}

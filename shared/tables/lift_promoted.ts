/**
 * Fills promoted columns from the attributes of the rows that become new files. So drains fill them
 * for what comes. Whatever rewrites files (merges, delete tasks) fills them for what was there
 * before.
 */

import {
  attributeOf,
  ATTRIBUTES,
  membersOf,
  type PromotedType,
  promotedValue,
} from "../schema/promoted.ts";
import { Buffer } from "node:buffer";
import { textOf } from "../base/bytes.ts";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import { columnBuilderOf } from "../columns/column_builders.ts";
import { type ColumnValue, isNull, putValue, rowsOf } from "../columns/rows.ts";
import type { Column, TableSchema } from "../schema/schema.ts";

/**
 * A batch whose promoted columns have what its attributes say wherever they were null; itself when
 * nothing is new.
 */
export type LiftPromoted = (batch: ColumnBatch) => ColumnBatch;

/** What fills the promoted columns of a table's batches from their attributes. */
export function liftPromoted(schema: TableSchema): LiftPromoted {
  const source = schema.columns.findIndex((column) =>
    column.name === ATTRIBUTES && column.type === "string"
  );
  const promoted = schema.columns.flatMap((column, at) =>
    schema.promoted?.includes(column.name) === true ? [{ column, at }] : []
  );
  if (source < 0 || promoted.length === 0) return (batch) => batch;
  return (batch) => {
    const attributes = batch.columns[source];
    if (attributes === undefined) return batch;
    const open = promoted.filter(({ column, at }) =>
      mayGain(batch.columns[at], column, attributes)
    );
    if (open.length === 0) return batch;
    const columns = [...batch.columns];
    const values = valuesOf(batch, attributes, open.map(({ column }) => column));
    for (const [i, { column, at }] of open.entries()) {
      columns[at] = filled(batch, { column, at, values: values[i] ?? [] });
    }
    return { ...batch, columns };
  };
}

/** Whether some row lacks the value, and some row's attributes have such a name. */
function mayGain(
  data: ColumnData | undefined,
  { name }: Column,
  { values }: ColumnData,
): boolean {
  if (data === undefined || data.nullCount === 0) return false;
  const attribute = attributeOf(name);
  if (needsEscape(attribute)) return true;
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return bytes.includes(`"${attribute}"`);
}

/** Such a name may be spelt in several ways. */
function needsEscape(name: string): boolean {
  // deno-lint-ignore no-control-regex -- the characters that JSON escapes
  return /["\\\/\u0000-\u001f\u007f-\uffff]/.test(name);
}

/** By column, then by row. */
function valuesOf(
  { rows }: ColumnBatch,
  attributes: ColumnData,
  columns: readonly Column[],
): ColumnValue[][] {
  const wanted = columns.map(({ name, type }) => ({ attribute: attributeOf(name), type }));
  const names = new Set(wanted.map(({ attribute }) => attribute));
  const values: ColumnValue[][] = columns.map(() => Array(rows).fill(null));
  for (let row = 0; row < rows; row += 1) {
    if (isNull(attributes, row)) continue;
    const { offsets } = attributes;
    const members = membersOf(
      textOf(attributes.values.subarray(offsets?.[row], offsets?.[row + 1])),
      names,
    );
    for (const [i, { attribute, type }] of wanted.entries()) {
      const json = members.get(attribute);
      const of = values[i];
      if (json !== undefined && of !== undefined) {
        of[row] = promotedValue(type as PromotedType, json);
      }
    }
  }
  return values;
}

/** The column with `values` in the rows that had none. */
function filled(
  batch: ColumnBatch,
  { column, at, values }: {
    readonly column: Column;
    readonly at: number;
    readonly values: readonly ColumnValue[];
  },
): ColumnData {
  const data = batch.columns[at];
  const before = data === undefined || data.nullCount === batch.rows
    ? undefined
    : rowsOf({ rows: batch.rows, schema: { columns: [column], tags: [] }, columns: [data] });
  const builder = columnBuilderOf(column.type);
  for (let row = 0; row < batch.rows; row += 1) {
    putValue(builder, before?.[row]?.[column.name] ?? values[row] ?? null);
  }
  return builder.finish();
}

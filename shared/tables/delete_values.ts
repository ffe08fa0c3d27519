/**
 * Values of a batch as text that is equal when Iceberg takes the values for equal: null equals
 * null, NaN equals NaN, and -0.0 does not equal 0.0.
 */

import { present, unreachable } from "../base/assert.ts";
import { areSameBytes, textOf, viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import type { Column } from "../schema/schema.ts";

/** The column with this field id; undefined where the batch has none. */
export function columnById(
  batch: ColumnBatch,
  id: number,
): { readonly column: Column; readonly data: ColumnData } | undefined {
  const at = batch.schema.columns.findIndex((column) => column.id === id);
  const column = batch.schema.columns[at];
  return column === undefined ? undefined : { column, data: present(batch.columns[at]) };
}

const NULL = "n;";

/** Reads a column by its field id. No text begins another. Errors: `unimplemented`: it has none. */
export function valueReader(batch: ColumnBatch, id: number): (at: number) => string {
  const found = columnById(batch, id);
  if (found === undefined) throw unknownColumn(id);
  const { column, data } = found;
  const read = plainReader(column, data);
  const { validity } = data;
  if (validity === null) return read;
  return (at) => ((validity[at >> 3] ?? 0) >> (at & 7) & 1) === 1 ? read(at) : NULL;
}

/** Texts of a column in which neighbours are often the same. */
export function pathsOf({ offsets, values }: ColumnData): (at: number) => string {
  let last: { readonly bytes: Uint8Array; readonly text: string } | undefined;
  return (at) => {
    const bytes = values.subarray(offsets?.[at], offsets?.[at + 1]);
    if (last === undefined || !areSameBytes(last.bytes, bytes)) {
      last = { bytes, text: textOf(bytes) };
    }
    return last.text;
  };
}

function unknownColumn(id: number): OperatingError {
  return new OperatingError(
    "unimplemented",
    `Cannot apply another engine's equality deletes: they compare column ${id}, which the table ` +
      "has no more. Rewrite the data files with that engine.",
    { reason: "delete_files" },
  );
}

function plainReader({ type }: Column, data: ColumnData): (at: number) => string {
  const { values, offsets } = data;
  const view = viewOf(values);
  switch (type) {
    case "string":
      return (at) => {
        const text = textOf(values.subarray(offsets?.[at], offsets?.[at + 1]));
        return `s${text.length}:${text}`;
      };
    case "timestamptz":
    case "long":
      return (at) => `${view.getBigInt64(8 * at, true)};`;
    case "int":
      return (at) => `${view.getInt32(4 * at, true)};`;
    case "double":
      return (at) => {
        const value = view.getFloat64(8 * at, true);
        return Object.is(value, -0) ? "-0;" : `${value};`;
      };
    case "bool":
      return (at) => `${(values[at >> 3] ?? 0) >> (at & 7) & 1};`;
    default:
      return unreachable(type);
  }
}

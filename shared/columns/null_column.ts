/** Columns without a value. */

import type { ColumnType } from "../schema/schema.ts";
import { type ColumnData, valueBytes } from "./batch.ts";

/** A column of `rows` nulls. */
export function nullColumn(type: ColumnType, rows: number): ColumnData {
  const validity = new Uint8Array((rows + 7) >> 3);
  if (type !== "string") {
    const values = new Uint8Array(valueBytes(type, rows));
    return { validity, nullCount: rows, offsets: null, values };
  }
  return { validity, nullCount: rows, offsets: new Int32Array(rows + 1), values: new Uint8Array() };
}

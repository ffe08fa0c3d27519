/**
 * A column's rows as ids of their values: the one pass over text that all counts by value share.
 * Works on the columns' buffers; a text is made of a value once, however many rows have it.
 */

import { totalRows } from "../../base/total_rows.ts";
import { type ColumnPiece, ValueTable } from "./value_table.ts";
import type { GroupType, GroupValue } from "./summary_blobs.ts";

export interface GroupIds {
  readonly type: GroupType;
  /** An id for each row: 0 is NULL, 1 the value that occurs first. */
  readonly ids: Uint16Array;
  /** By id. */
  readonly values: readonly GroupValue[];
}

/**
 * Undefined when there are more than `valuesMax` (at most 65,535) values, or when a double is -0,
 * which is the same group as 0 and another text.
 */
export function groupIds(
  type: GroupType,
  pieces: readonly ColumnPiece[],
  valuesMax: number,
): GroupIds | undefined {
  const rows = totalRows(pieces);
  const ids = new Uint16Array(rows);
  const table = new ValueTable(type, valuesMax);
  let base = 0;
  for (const piece of pieces) {
    if (!table.add(piece, ids.subarray(base, base + piece.rows))) return undefined;
    base += piece.rows;
  }
  const values: GroupValue[] = [null];
  for (let id = 1; id <= table.size; id += 1) values.push(table.text(id));
  return { type, ids, values };
}

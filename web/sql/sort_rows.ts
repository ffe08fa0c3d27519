/** Sorts the rows of a result, by one column, as the user sees its values. */

import type { Value } from "../api/sql_client.ts";
import type { ColumnKind } from "./column_kind.ts";
import { valueText } from "./value_text.ts";

export interface SortOrder {
  /** Place of the column. */
  readonly column: number;
  readonly isDescending: boolean;
}

/** Returns the places of the rows in the order; equal ones stay as they were, nulls come last. */
export function sortedPlaces(
  rows: readonly (readonly Value[])[],
  { column, isDescending }: SortOrder,
  kind: ColumnKind,
): Uint32Array {
  const keys = rows.map((row) => keyOf(row[column] ?? null, kind));
  const sign = isDescending ? -1 : 1;
  return Uint32Array.from(rows.keys()).sort((a, b) => {
    const [left, right] = [keys[a] ?? null, keys[b] ?? null];
    if (left === null || right === null) return (left === null ? 1 : 0) - (right === null ? 1 : 0);
    const order = left < right ? -1 : left > right ? 1 : 0;
    return order === 0 ? a - b : sign * order;
  });
}

function keyOf(value: Value, kind: ColumnKind): string | number | bigint | null {
  if (value === null) return null;
  if (kind !== "number") return valueText(value);
  if (typeof value === "number") return value;
  const text = valueText(value);
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

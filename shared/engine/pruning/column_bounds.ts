/**
 * Whether rows with certain bounds of their columns can meet a predicate. The bounds are of a file,
 * by its manifest, or of a row group, by its footer. Pure.
 *
 * A lower bound may be too low and an upper bound too high. Texts are compared byte by byte, which
 * is DuckDB's order. DuckDB sorts NaN after all numbers and bounds leave it out, so an upper bound
 * of doubles says nothing.
 */

import { utf8 } from "../../base/bytes.ts";
import type { Column } from "../../schema/schema.ts";
import { decodeSingleValue } from "../../iceberg/single_value.ts";
import type { ColumnChunk } from "../../parquet/footer.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { CompareOperator, ConstantValue, Leaf, Predicate } from "./predicate.ts";

/** Bounds in Iceberg's single-value serialization; absent where they are not known. */
export interface ColumnBounds {
  readonly lower: Uint8Array | undefined;
  readonly upper: Uint8Array | undefined;
  /** No row has a value. */
  readonly isEmpty: boolean;
}

/** Bounds of a file's columns, by its manifest. */
export function boundsOfFile(file: DataFile): (column: Column) => ColumnBounds {
  return ({ id }) => {
    const nulls = file.nullCounts.get(id);
    return {
      lower: file.lowerBounds.get(id),
      upper: file.upperBounds.get(id),
      isEmpty: nulls !== undefined && nulls === file.valueCounts.get(id),
    };
  };
}

/** Bounds of a row group's columns, by its footer. */
export function boundsOfRowGroup(chunks: readonly ColumnChunk[]): (column: Column) => ColumnBounds {
  return ({ id }) => {
    const chunk = chunks.find(({ fieldId }) => fieldId === id);
    return {
      lower: chunk?.min,
      upper: chunk?.max,
      isEmpty: chunk !== undefined && chunk.nulls === chunk.values,
    };
  };
}

/** Whether bounds can rule the predicate out at all. */
export function dependsOnBounds(predicate: Predicate<Column>): boolean {
  switch (predicate.kind) {
    case "and":
      return predicate.of.some(dependsOnBounds);
    case "or":
      return predicate.of.every(dependsOnBounds);
    default:
      return predicate.kind === "compare" || predicate.kind === "starts";
  }
}

/** Whether a row within the bounds can meet the predicate. True where that is not known. */
export function mayMeet(
  predicate: Predicate<Column>,
  boundsOf: (column: Column) => ColumnBounds,
): boolean {
  switch (predicate.kind) {
    case "all":
      return true;
    case "and":
      return predicate.of.every((one) => mayMeet(one, boundsOf));
    case "or":
      return predicate.of.some((one) => mayMeet(one, boundsOf));
    default:
      return leafMayMeet(predicate, boundsOf(predicate.column));
  }
}

function leafMayMeet(leaf: Leaf<Column>, bounds: ColumnBounds): boolean {
  if (bounds.isEmpty) return false;
  if (leaf.kind === "starts") return someStarts(utf8(leaf.text), bounds);
  if (leaf.kind !== "compare") return true;
  const compare = comparison(leaf.column, bounds);
  return leaf.values.some((value) => compare(leaf.operator, value));
}

/**
 * Whether texts that begin with `start` can be within the bounds. Such texts follow each other,
 * from `start` on.
 */
function someStarts(start: Uint8Array, { lower, upper }: ColumnBounds): boolean {
  if (upper !== undefined && compareBytes(upper, start) < 0) return false;
  if (lower === undefined || compareBytes(lower, start) <= 0) return true;
  return compareBytes(lower.subarray(0, start.byteLength), start) === 0;
}

function comparison(
  { type }: Column,
  { lower, upper }: ColumnBounds,
): (operator: CompareOperator, value: ConstantValue) => boolean {
  const against = (bound: Uint8Array | undefined, value: ConstantValue): number | undefined => {
    if (bound === undefined) return undefined;
    if (typeof value === "string") return compareBytes(bound, utf8(value));
    try {
      return compareNumbers(decodeSingleValue(type, bound), value);
    } catch {
      return undefined; // Another writer's, of another type.
    }
  };
  return (operator, value) => {
    const low = against(lower, value) ?? NaN;
    const high = against(upper, value) ?? NaN;
    switch (operator) {
      case "=":
        return !(low > 0 || high < 0);
      case "<":
        return !(low >= 0);
      case "<=":
        return !(low > 0);
      case ">":
        return type === "double" || !(high <= 0);
      case ">=":
        return type === "double" || !(high < 0);
    }
  };
}

/** NaN where they cannot be compared. */
function compareNumbers(a: ConstantValue, b: ConstantValue): number {
  const [x, y] = [numeric(a), numeric(b)];
  return x < y ? -1 : x > y ? 1 : x <= y ? 0 : NaN;
}

function numeric(value: ConstantValue): bigint | number {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "string" ? NaN : value;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.byteLength, b.byteLength);
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.byteLength - b.byteLength;
}

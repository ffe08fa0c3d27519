/**
 * Whether sums and averages of weighted rows equal the scan's to the last bit, whatever the order
 * in which either adds.
 *
 * A sum of doubles does where every order gives the same sum (`shared/derived/summary/README.md`).
 * An average of whole numbers does where the sum that it divides stays below 2^63
 * (`functions/exact_average.ts`).
 */

import type { MeasuredCell, MeasuredCells } from "../../derived/summary/measured_cells.ts";
import type { Column } from "../../schema/schema.ts";
import { decodeSingleValue } from "../../iceberg/single_value.ts";
import type { BoundedRows } from "./own_rows.ts";
import type { Measure } from "./weighted_aggregates.ts";

/** A measure, and what summaries know of it. */
export interface Measured {
  readonly measure: Measure;
  readonly cells: MeasuredCells;
}

interface Beside {
  /** Files and segments whose rows are read, besides. */
  readonly read: readonly BoundedRows[];
  /** Whether the processor divides like `exact_average`. */
  readonly averages: boolean;
}

/** Why one of the measures may differ, in words for people. Undefined: none does. */
export function inexactMeasure(measures: readonly Measured[], beside: Beside): string | undefined {
  for (const { measure, cells } of measures) {
    const { column, parts, isAveraged } = measure;
    const why = column.type !== "double"
      ? isAveraged ? inexactAverage(column, cells, beside) : undefined
      : parts.has("sum")
      ? inexactSum(column, cells, beside)
      : undefined;
    if (why !== undefined) return why;
  }
  return undefined;
}

function inexactSum(
  { name }: Column,
  { kind, units, cells }: MeasuredCells,
  { read }: Beside,
): string | undefined {
  if (read.length > 0) return `it adds up ${name}, of which rows must be read`;
  let absolutes = 0n;
  for (const cell of cells.values()) {
    // Whole numbers that are added up as doubles.
    absolutes += kind === "integer" ? absolutesMax(cell) : cell.absolutes;
  }
  return units === undefined || absolutes >= 2n ** 53n
    ? `the sum of ${name} depends on the order of rows`
    : undefined;
}

function absolutesMax({ values, smallest, largest }: MeasuredCell): bigint {
  const bounds = [smallest, largest].map((bound) => absolute(BigInt(bound)));
  return BigInt(values) * bounds.reduce((a, b) => a > b ? a : b);
}

function inexactAverage(
  column: Column,
  { cells }: MeasuredCells,
  { read, averages }: Beside,
): string | undefined {
  if (!averages) return "averages of whole numbers are not exact on this processor";
  let total = 0n;
  for (const { sum } of cells.values()) total += absolute(sum);
  for (const rows of read) {
    const own = absoluteSumMax(rows, column);
    if (own === undefined) {
      return `it averages ${column.name}, of which rows without bounds are read`;
    }
    total += own;
  }
  return total >= 2n ** 63n
    ? `the sum of ${column.name} is too large to be divided exactly`
    : undefined;
}

/**
 * What a column's values can come to at most, whatever their signs. Undefined when that is not
 * known.
 */
function absoluteSumMax(
  { rows, lowerBounds, upperBounds }: BoundedRows,
  { id, type }: Column,
): bigint | undefined {
  const [lower, upper] = [lowerBounds.get(id), upperBounds.get(id)];
  if (lower === undefined || upper === undefined) return undefined;
  const bounds = [lower, upper].map((bound) => absolute(BigInt(decodeSingleValue(type, bound))));
  return BigInt(rows) * bounds.reduce((a, b) => a > b ? a : b);
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}

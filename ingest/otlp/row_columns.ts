/** What the columns of all signals share: times, and the checks before rows leave a decoder. */

import { OperatingError } from "../../shared/base/errors.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import {
  firstRowNotUtf8,
  Int64ColumnBuilder,
  type LentColumn,
  type RunColumnBuilder,
  type StringColumnBuilder,
} from "../../shared/columns/column_builders.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";

/** Appends both time columns from the halves of a nanosecond count that is not negative. */
export function writeTime(
  columns: { readonly timestamp: Int64ColumnBuilder; readonly timestampNs: Int64ColumnBuilder },
  low: number,
  high: number,
): void {
  columns.timestampNs.halves(low, high);
  const microsHigh = Math.floor(high / 1000);
  const rest = (high - 1000 * microsHigh) * 0x1_0000_0000 + (low >>> 0);
  columns.timestamp.halves(Math.floor(rest / 1000) | 0, microsHigh);
}

/**
 * Refuses an unsigned 64-bit nanosecond count that a signed one does not hold; `what` says whose it
 * is.
 */
export function refuseLate(what: string, low: number, high: number): void {
  if (high >= 0) return;
  const value = BigInt.asUintN(64, (BigInt(high) << 32n) | BigInt(low >>> 0));
  throw new OperatingError(
    "invalid_argument",
    `Cannot store ${what} ${value}: the last instant is ${TIMESTAMP_NS_MAX} ` +
      "(2262-04-11); send Unix nanoseconds",
  );
}

type RowBuilder = Int64ColumnBuilder | RunColumnBuilder | StringColumnBuilder;

/** Bounds the bytes of each column of text. */
export function boundColumns(builders: readonly RowBuilder[], bytesMax: number): void {
  for (const builder of builders) {
    if (!(builder instanceof Int64ColumnBuilder)) builder.bytesMax = bytesMax;
  }
}

export interface RowBuilders {
  /** In the schema's order. */
  readonly builders: readonly RowBuilder[];
  /** What one row is, for messages. */
  readonly what: string;
}

/**
 * The rows; the builders are empty afterwards. Columns are lent: `release` gives them back for a
 * later request. Throws `invalid_argument` when a string is not UTF-8.
 */
export function finishRows(
  schema: TableSchema,
  rows: number,
  { builders, what }: RowBuilders,
): ColumnBatch {
  const { columns, release } = lendColumns(builders);
  columns.forEach((column, i) => {
    const row = firstRowNotUtf8(column);
    if (row < 0) return;
    release();
    throw new OperatingError(
      "invalid_argument",
      `Cannot store ${what} ${row} of the request: its ${schema.columns[i]?.name} is not UTF-8; ` +
        "OTLP strings are UTF-8, other bytes go into a bytes value",
    );
  });
  return { schema, rows, columns, release };
}

function lendColumns(
  builders: RowBuilders["builders"],
): { columns: readonly ColumnData[]; release: () => void } {
  const columns = builders.map((builder) => builder.lend());
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    builders.forEach((builder, at) => builder.giveBack(columns[at] as LentColumn));
  };
  return { columns, release };
}

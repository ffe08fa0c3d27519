/**
 * The columns of the table `events` while log records are written into them. Kept between requests: a
 * decoder runs to its end without waiting, so there is one user at a time.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import {
  firstRowNotUtf8,
  Int64ColumnBuilder,
  RunColumnBuilder,
  StringColumnBuilder,
} from "../../shared/columns/column_builders.ts";
import { EVENTS_SCHEMA } from "../../shared/event/events.ts";

export class LogColumns {
  readonly timestamp = new Int64ColumnBuilder();
  readonly timestampNs = new Int64ColumnBuilder();
  readonly host = new RunColumnBuilder();
  readonly source = new RunColumnBuilder();
  readonly sourcetype = new RunColumnBuilder();
  readonly index = new RunColumnBuilder();
  readonly raw = new StringColumnBuilder();
  readonly attributes = new StringColumnBuilder();

  /** In the schema's order. */
  readonly #all = [
    this.timestamp,
    this.timestampNs,
    this.host,
    this.source,
    this.sourcetype,
    this.index,
    this.raw,
    this.attributes,
  ] as const;

  /** Appends both time columns from the halves of a nanosecond count that is not negative. */
  time(low: number, high: number): void {
    this.timestampNs.halves(low, high);
    const microsHigh = Math.floor(high / 1000);
    const rest = (high - 1000 * microsHigh) * 0x1_0000_0000 + (low >>> 0);
    this.timestamp.halves(Math.floor(rest / 1000) | 0, microsHigh);
  }

  /** The rows; empty afterwards. Throws `invalid_argument` when a string is not UTF-8. */
  finish(): ColumnBatch {
    const { rows } = this.timestamp;
    const columns = this.#all.map((builder) => builder.finish());
    columns.forEach((column, i) => assertUtf8(column, EVENTS_SCHEMA.columns[i]?.name));
    return { schema: EVENTS_SCHEMA, rows, columns };
  }

  /** Forgets what an earlier request may have left behind. */
  clear(): void {
    for (const builder of this.#all) builder.clear();
  }
}

function assertUtf8(column: ColumnData, name: string | undefined): void {
  const row = firstRowNotUtf8(column);
  if (row < 0) return;
  throw new OperatingError(
    "invalid_argument",
    `Cannot store log record ${row} of the request: its ${name} is not UTF-8; ` +
      "OTLP strings are UTF-8, other bytes go into a bytes value",
  );
}

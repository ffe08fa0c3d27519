/**
 * The columns of the table `events` while log records are written into them. Kept between requests:
 * a decoder runs to its end without waiting, so there is one user at a time.
 */

import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import {
  Int64ColumnBuilder,
  RunColumnBuilder,
  StringColumnBuilder,
} from "../../../shared/columns/column_builders.ts";
import { EVENTS_SCHEMA } from "../../../shared/schema/events.ts";
import { TraceIds } from "../../../shared/wal/trace_filter.ts";
import { boundColumns, finishRows } from "../row_columns.ts";
import { Severities } from "./severities.ts";

export class LogColumns {
  readonly timestamp = new Int64ColumnBuilder();
  readonly timestampNs = new Int64ColumnBuilder();
  readonly host = new RunColumnBuilder();
  readonly source = new RunColumnBuilder();
  readonly sourcetype = new RunColumnBuilder();
  readonly index = new RunColumnBuilder();
  readonly raw = new StringColumnBuilder();
  readonly attributes = new StringColumnBuilder();
  readonly severities = new Severities();
  readonly traces = new TraceIds();

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

  /** Bounds the bytes of each column of text. */
  bound(bytesMax: number): void {
    boundColumns(this.#all, bytesMax);
  }

  /** The rows; empty afterwards. Throws `invalid_argument` when a string is not UTF-8. */
  finish(): ColumnBatch {
    const { rows } = this.timestamp;
    const batch = finishRows(EVENTS_SCHEMA, rows, { builders: this.#all, what: "log record" });
    return { ...batch, told: this.severities.take(), traces: this.traces.take() };
  }

  /** Forgets what an earlier request may have left behind. */
  clear(): void {
    for (const builder of this.#all) builder.clear();
    this.severities.clear();
    this.traces.clear();
  }
}

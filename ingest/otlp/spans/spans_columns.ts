/**
 * The columns of the table `traces` while spans are written into them. Kept between requests: a
 * decoder runs to its end without waiting, so there is one user at a time.
 */

import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import {
  Int64ColumnBuilder,
  RunColumnBuilder,
  StringColumnBuilder,
} from "../../../shared/columns/column_builders.ts";
import { TRACES_SCHEMA } from "../../../shared/schema/traces.ts";
import { TraceIds } from "../../../shared/wal/trace_filter.ts";
import { boundColumns, finishRows } from "../row_columns.ts";

export class SpansColumns {
  readonly timestamp = new Int64ColumnBuilder();
  readonly timestampNs = new Int64ColumnBuilder();
  readonly traceId = new StringColumnBuilder();
  readonly spanId = new StringColumnBuilder();
  readonly parentSpanId = new StringColumnBuilder();
  readonly service = new RunColumnBuilder();
  readonly name = new StringColumnBuilder();
  readonly kind = new RunColumnBuilder();
  readonly statusCode = new RunColumnBuilder();
  readonly statusMessage = new StringColumnBuilder();
  readonly durationNanos = new Int64ColumnBuilder();
  readonly traceState = new StringColumnBuilder();
  readonly scopeName = new RunColumnBuilder();
  readonly scopeVersion = new RunColumnBuilder();
  readonly attributes = new StringColumnBuilder();
  readonly resourceAttributes = new RunColumnBuilder();
  readonly events = new StringColumnBuilder();
  readonly links = new StringColumnBuilder();
  readonly traces = new TraceIds();

  /** In the schema's order. */
  readonly #all = [
    this.timestamp,
    this.timestampNs,
    this.traceId,
    this.spanId,
    this.parentSpanId,
    this.service,
    this.name,
    this.kind,
    this.statusCode,
    this.statusMessage,
    this.durationNanos,
    this.traceState,
    this.scopeName,
    this.scopeVersion,
    this.attributes,
    this.resourceAttributes,
    this.events,
    this.links,
  ] as const;

  /** Bounds the bytes of each column of text. */
  bound(bytesMax: number): void {
    boundColumns(this.#all, bytesMax);
  }

  /** The rows; empty afterwards. Throws `invalid_argument` when a string is not UTF-8. */
  finish(): ColumnBatch {
    const { rows } = this.timestamp;
    const batch = finishRows(TRACES_SCHEMA, rows, { builders: this.#all, what: "span" });
    return { ...batch, traces: this.traces.take() };
  }

  /** Forgets what an earlier request may have left behind. */
  clear(): void {
    for (const builder of this.#all) builder.clear();
    this.traces.clear();
  }
}

/**
 * OTLP log rows as rows of a configured index: attributes become the values of its columns, by its
 * mapping's mode. Rows that the mapping refuses are left out, and told to the sender as partial
 * success.
 *
 * For every other table the batch stays as it is: the hot path is one comparison. A long batch is
 * mapped in parts, between which other requests get a turn. An attribute becomes a value through
 * `JSON.parse`.
 */

import { type JsonDocument, parseDocument } from "../shared/document/document.ts";
import { isOperatingError } from "../shared/base/errors.ts";
import { othersTurn } from "../shared/base/others_turn.ts";
import type { ColumnBatch } from "../shared/columns/batch.ts";
import { type ColumnValue, rowsBetween, RowsBuilder } from "../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../shared/schema/events.ts";
import { ownColumns, ValueMapper } from "../shared/document/mapped_values.ts";
import type { Column } from "../shared/schema/schema.ts";
import { EVENTS_SHAPE, type TableShape } from "../shared/schema/table_shape.ts";

export interface RefusedRows {
  /** 0: none, and `reason` is a warning. */
  readonly count: number;
  /** Why the first of them was refused. */
  readonly reason: string;
}

export interface MappedRows {
  readonly batch: ColumnBatch;
  /** Rows that are not in `batch`. */
  readonly refused?: RefusedRows;
}

/** Rows of one part: some 10 ms. */
const ROWS_PER_TURN = 1_000;

/**
 * `batch` is released when another takes its place. Errors: `invalid_argument` when the table takes
 * no log rows.
 */
export async function mapRows(batch: ColumnBatch, shape: TableShape): Promise<MappedRows> {
  if (shape === EVENTS_SHAPE || batch.schema !== EVENTS_SCHEMA) return { batch };
  const columns = ownColumns(shape);
  if (columns.length === 0 && shape.mapping?.mode !== "strict") {
    return { batch: { ...batch, schema: shape.schema } };
  }
  const mapper = new ValueMapper(columns, shape.mapping);
  const mapping = { columns, mapper, timeField: shape.mapping?.timestamp_field };
  const parts = new RowsBuilder(shape.schema);
  let refused: RefusedRows | undefined;
  for (let from = 0; from < batch.rows; from += ROWS_PER_TURN) {
    if (from > 0) await othersTurn();
    for (const row of rowsBetween(batch, from, Math.min(from + ROWS_PER_TURN, batch.rows))) {
      try {
        parts.add(mappedRow(row, mapping));
      } catch (error) {
        if (!isOperatingError(error, "invalid_argument")) throw error;
        refused = { count: (refused?.count ?? 0) + 1, reason: refused?.reason ?? error.message };
      }
    }
  }
  batch.release?.();
  return { batch: parts.finish(), ...(refused === undefined ? {} : { refused }) };
}

interface RowMapping {
  readonly columns: readonly Column[];
  readonly mapper: ValueMapper;
  readonly timeField: string | undefined;
}

function mappedRow(
  row: Readonly<Record<string, ColumnValue>>,
  { columns, mapper, timeField }: RowMapping,
): Record<string, ColumnValue> {
  const attributes = attributesOf(row["attributes"] ?? null);
  // A record has a time of its own, whatever the index calls it.
  const document = timeField === undefined || Object.hasOwn(attributes, timeField)
    ? attributes
    : { ...attributes, [timeField]: String(row["timestamp_ns"]) };
  const { values, taken } = mapper.read(document);
  const left = Object.entries(attributes).filter(([name]) => !taken.has(name));
  const text = left.length === 0 ? null : JSON.stringify(Object.fromEntries(left));
  mapper.checkAttributes(text);
  const mapped: Record<string, ColumnValue> = { ...row, attributes: text };
  for (const [at, { name }] of columns.entries()) {
    mapped[name] = values[at] ?? null;
  }
  return mapped;
}

function attributesOf(text: ColumnValue): JsonDocument {
  return typeof text === "string" ? parseDocument(text) : {};
}

/**
 * Rows of a batch as events of the stream, one at a time, so that nobody renders more than is read.
 *
 * An event's data is the row as JSON, members in the schema's order: `timestamp` as RFC 3339, 64-bit
 * integers as strings (a double loses their last digits), JSON columns as the values they hold. The
 * text has no line ends, which would end the event's data: JSON escapes them in strings, and JSON
 * columns are written by the decoders without white space.
 */

import { present, unreachable } from "../shared/base/assert.ts";
import { textOf } from "../shared/base/bytes.ts";
import { formatMicros } from "../shared/base/time.ts";
import type { ColumnBatch, ColumnData } from "../shared/columns/batch.ts";
import { isNull } from "../shared/columns/rows.ts";
import type { Column, TableSchema } from "../shared/event/schema.ts";
import { TRACES_SCHEMA } from "../shared/event/traces.ts";

/** Gives the event of a row of the batch, while the batch is not released. */
export function eventsOf(batch: ColumnBatch): (row: number) => string {
  const json = jsonColumnsOf(batch.schema);
  const members = batch.schema.columns.map((column, i) => {
    const data = present(batch.columns[i]);
    const name = `${JSON.stringify(column.name)}:`;
    const value = valueText(column, data, json.has(column.name));
    return (row: number) => name + (isNull(data, row) ? "null" : value(row));
  });
  return (row) => `event: event\ndata: {${members.map((of) => of(row)).join(",")}}\n\n`;
}

/** Columns of strings that are JSON values themselves. */
function jsonColumnsOf(schema: TableSchema): ReadonlySet<string> {
  return schema === TRACES_SCHEMA ? SPAN_JSON : EVENT_JSON;
}

const EVENT_JSON: ReadonlySet<string> = new Set(["attributes"]);
const SPAN_JSON: ReadonlySet<string> = new Set([
  "attributes",
  "resource_attributes",
  "events",
  "links",
]);

function valueText(column: Column, data: ColumnData, isJson: boolean): (row: number) => string {
  const { values, offsets } = data;
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  switch (column.type) {
    case "timestamptz":
      return (row) => `"${formatMicros(view.getBigInt64(8 * row, true))}"`;
    case "long":
      return (row) => `"${view.getBigInt64(8 * row, true)}"`;
    case "double":
      return (row) => doubleText(view.getFloat64(8 * row, true));
    case "int":
      return (row) => String(view.getInt32(4 * row, true));
    case "bool":
      return (row) => String((view.getUint8(row >> 3) & (1 << (row & 7))) !== 0);
    case "string": {
      const text = (row: number) => textOf(values.subarray(offsets?.[row], offsets?.[row + 1]));
      return isJson ? text : (row) => JSON.stringify(text(row));
    }
    default:
      return unreachable(column.type);
  }
}

/** JSON has no NaN and no infinities. */
function doubleText(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}

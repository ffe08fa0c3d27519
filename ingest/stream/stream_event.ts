/**
 * Rows of a batch as events of the stream, one at a time, so that nobody renders more than is read.
 * Bytes become bytes, because strings in between take three times as long.
 *
 * An event's data is the row as JSON, members in the schema's order. `timestamp` is RFC 3339,
 * 64-bit integers are strings (a double loses their last digits), JSON columns are the values they
 * hold. The text has no line ends, which would end the event's data: JSON escapes them in strings,
 * and the decoders write JSON columns without white space.
 */

import { present, unreachable } from "../../shared/base/assert.ts";
import { utf8, viewOf } from "../../shared/base/bytes.ts";
import { formatMicros } from "../../shared/base/time.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import type { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import { writeDouble, writeInt64, writeJsonString } from "../../shared/columns/json_writer.ts";
import { isNull } from "../../shared/columns/rows.ts";
import type { Column, TableSchema } from "../../shared/schema/schema.ts";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";

/** Appends the event of a row of the batch, while the batch is not released. */
export type WriteEvent = (out: ByteBuilder, row: number) => void;

/** A function that writes row after row of the batch as events. */
export function eventWriterOf(batch: ColumnBatch): WriteEvent {
  const json = jsonColumnsOf(batch.schema);
  const members = batch.schema.columns.map((column, i): WriteEvent => {
    const data = present(batch.columns[i]);
    const name = utf8(`${i === 0 ? START : ","}${JSON.stringify(column.name)}:`);
    const write = valueWriter(column, data, json.has(column.name));
    return (out, row) => {
      out.append(name);
      if (isNull(data, row)) out.append(NULL);
      else write(out, row);
    };
  });
  return (out, row) => {
    for (const write of members) write(out, row);
    out.append(END);
  };
}

const START = "event: event\ndata: {";
const NULL = utf8("null");
const END = utf8("}\n\n");
const QUOTE = 0x22;

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

function valueWriter(column: Column, data: ColumnData, isJson: boolean): WriteEvent {
  const { values, offsets } = data;
  const view = viewOf(values);
  switch (column.type) {
    case "timestamptz":
      return (out, row) => out.text(`"${formatMicros(view.getBigInt64(8 * row, true))}"`);
    case "long":
      return (out, row) => {
        out.byte(QUOTE);
        writeInt64(out, view.getInt32(8 * row, true), view.getInt32(8 * row + 4, true));
        out.byte(QUOTE);
      };
    case "double":
      return (out, row) => writeDouble(out, view.getFloat64(8 * row, true));
    case "int":
      return (out, row) => out.text(String(view.getInt32(4 * row, true)));
    case "bool":
      return (out, row) => out.text(String((view.getUint8(row >> 3) & (1 << (row & 7))) !== 0));
    case "string": {
      const ends = present(offsets);
      const write = isJson
        ? (out: ByteBuilder, start: number, end: number) => out.copy(view, start, end)
        : (out: ByteBuilder, start: number, end: number) => writeJsonString(out, view, start, end);
      return (out, row) => write(out, ends[row] ?? 0, ends[row + 1] ?? 0);
    }
    default:
      return unreachable(column.type);
  }
}

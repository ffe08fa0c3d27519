/** Arrays of one dimension, as PostgreSQL's text and binary formats have them. */

import { present } from "../../../shared/base/assert.ts";
import { textOf } from "../../../shared/base/bytes.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { type ArrowColumn, isNull } from "./arrow_columns.ts";
import { type CellWriter, type Format, TEXT_FORMAT } from "./formats.ts";
import type { ColumnType } from "./column_type.ts";

interface ArrayParts {
  readonly column: ArrowColumn;
  readonly items: ArrowColumn;
  readonly item: ColumnType;
  readonly format: Format;
  /** Writes an item. */
  readonly writer: CellWriter;
}

/** Makes the writer of a column of lists. */
export function arrayWriter({ column, items, item, format, writer }: ArrayParts): CellWriter {
  const offsets = present(column.offsets, "offsets of a list");
  const spanOf = (row: number) =>
    [offsets.getInt32(4 * row, true), offsets.getInt32(4 * row + 4, true)] as const;
  if (format === TEXT_FORMAT) {
    const scratch = new ByteBuilder(256);
    return (row, out) => {
      const [from, to] = spanOf(row);
      out.byte(OPEN);
      for (let at = from; at < to; at += 1) {
        if (at > from) out.byte(COMMA);
        if (isNull(items, at)) {
          out.text("NULL");
          continue;
        }
        scratch.clear();
        writer(at, scratch);
        out.text(quotedItem(textOf(scratch.bytes.subarray(0, scratch.length))));
      }
      out.byte(CLOSE);
    };
  }
  return (row, out) => {
    const [from, to] = spanOf(row);
    writeHeader(out, { count: to - from, oid: item.oid, hasNull: holdsNull(items, from, to) });
    for (let at = from; at < to; at += 1) writeItem(items, at, { out, writer });
  };
}

const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const HEADER_BYTES = 12;
const DIMENSION_BYTES = 8;

function holdsNull(items: ArrowColumn, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (isNull(items, at)) return true;
  return false;
}

/** An empty array has no dimension. */
function writeHeader(
  out: ByteBuilder,
  { count, oid, hasNull }: {
    readonly count: number;
    readonly oid: number;
    readonly hasNull: boolean;
  },
): void {
  out.reserve(HEADER_BYTES + DIMENSION_BYTES);
  const { view, length } = out;
  view.setInt32(length, count === 0 ? 0 : 1);
  view.setInt32(length + 4, hasNull ? 1 : 0);
  view.setInt32(length + 8, oid);
  out.length += HEADER_BYTES;
  if (count === 0) return;
  view.setInt32(length + 12, count);
  view.setInt32(length + 16, 1);
  out.length += DIMENSION_BYTES;
}

function writeItem(
  items: ArrowColumn,
  at: number,
  { out, writer }: { readonly out: ByteBuilder; readonly writer: CellWriter },
): void {
  out.reserve(4);
  const lengthAt = out.length;
  out.length += 4;
  const isAbsent = isNull(items, at);
  if (!isAbsent) writer(at, out);
  out.view.setInt32(lengthAt, isAbsent ? -1 : out.length - lengthAt - 4);
}

/** An item's text within the braces. */
function quotedItem(text: string): string {
  const isPlain = text !== "" && !SPECIAL.test(text) && text.toLowerCase() !== "null";
  return isPlain ? text : `"${text.replaceAll(/[\\"]/g, "\\$&")}"`;
}

/** PostgreSQL counts no other blanks: `array_isspace` of its arrayfuncs.c. */
const SPECIAL = /[{}",\\ \t\n\v\f\r]/;

/**
 * Writes values of an Arrow column as PostgreSQL's text or binary format has them. One writer is
 * made for a column of a batch, so that a value costs one call.
 */

import { present } from "../../../shared/base/assert.ts";
import { textOf } from "../../../shared/base/bytes.ts";
import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { arrayWriter } from "./array_writer.ts";
import type { ArrowColumn } from "./arrow_columns.ts";
import type { ColumnType, IntLayout } from "./column_type.ts";
import { pgError } from "../sqlstate.ts";
import { BINARY_FORMAT, type CellWriter, type Format } from "./formats.ts";
import { writeNumeric } from "./numeric_binary.ts";
import { OID } from "./oids.ts";
import {
  dateText,
  decimalText,
  float4Text,
  float8Text,
  type Interval,
  intervalText,
  isoIntervalText,
  parseInterval,
  splitInstant,
  timestampText,
  timeText,
} from "./value_texts.ts";

/** Days and microseconds from 1970 to 2000, where PostgreSQL's binary times begin. */
const PG_EPOCH_DAYS = 10_957;
const PG_EPOCH_MICROS = 946_684_800_000_000n;
const PG_EPOCH = Number(PG_EPOCH_MICROS);
const MICROS = 1_000_000;
/** DuckDB's infinite dates and timestamps. */
const DATE_INFINITY = 0x7fff_ffff;
const INSTANT_INFINITY = 0x7fff_ffff_ffff_ffffn;
const PG_DATE_MIN = -0x8000_0000;
const PG_INSTANT_MIN = -0x8000_0000_0000_0000n;

/** Makes the writer of a column's values. */
export function cellWriter(column: ArrowColumn, type: ColumnType, format: Format): CellWriter {
  const isBinary = format === BINARY_FORMAT;
  const { layout, oid } = type;
  if (layout.kind === "list") {
    const items = present(column.items, "items of a list");
    const item = present(type.item, "type of a list's items");
    return arrayWriter({ column, items, item, format, writer: cellWriter(items, item, format) });
  }
  if (layout.kind === "texts") return textsWriter(column, type, isBinary);
  if (layout.kind === "bool") return boolWriter(column, isBinary);
  if (layout.kind === "float4" || layout.kind === "float8") {
    return floatWriter(column, layout.kind === "float4" ? 4 : 8, isBinary);
  }
  if (layout.kind === "decimal") return decimalWriter(column, layout.scale, isBinary);
  if (layout.kind === "instant") return instantWriter(column, type, isBinary);
  if (oid === OID.date) return dateWriter(column, isBinary);
  if (oid === OID.time) return timeWriter(column, isBinary);
  return intWriter(column, { layout, oid, isBinary });
}

function boolWriter({ values }: ArrowColumn, isBinary: boolean): CellWriter {
  const [no, yes] = isBinary ? [0, 1] : [0x66, 0x74];
  return (row, out) => out.byte((values.getUint8(row >> 3) >> (row & 7) & 1) === 1 ? yes : no);
}

/** Reads whole numbers; those of 64 bits as `number` where all digits fit. */
function intReader(
  values: DataView,
  { bytes, isSigned }: IntLayout,
): (row: number) => number | bigint {
  if (bytes === 1) return isSigned ? (row) => values.getInt8(row) : (row) => values.getUint8(row);
  if (bytes === 2) {
    return isSigned
      ? (row) => values.getInt16(2 * row, true)
      : (row) => values.getUint16(2 * row, true);
  }
  if (bytes === 4) {
    return isSigned
      ? (row) => values.getInt32(4 * row, true)
      : (row) => values.getUint32(4 * row, true);
  }
  return (row) => {
    const high = isSigned
      ? values.getInt32(8 * row + 4, true)
      : values.getUint32(8 * row + 4, true);
    if (high >= -SAFE_HIGH && high < SAFE_HIGH) {
      return high * HIGH + values.getUint32(8 * row, true);
    }
    return isSigned ? values.getBigInt64(8 * row, true) : values.getBigUint64(8 * row, true);
  };
}

const HIGH = 0x1_0000_0000;
/** Upper halves below it make numbers of 53 bits. */
const SAFE_HIGH = 0x20_0000;
/** Upper halves of microseconds, from 1827 to 2112, that stay so whatever the epoch. */
const NEAR_HIGH = 0x10_0000;

function intWriter(
  { values }: ArrowColumn,
  { layout, oid, isBinary }: {
    readonly layout: IntLayout;
    readonly oid: number;
    readonly isBinary: boolean;
  },
): CellWriter {
  const read = intReader(values, layout);
  if (!isBinary) return (row, out) => out.text(String(read(row)));
  if (oid === OID.numeric) return (row, out) => writeNumeric(String(read(row)), out);
  if (oid === OID.int8) {
    if (layout.bytes === 8) return (row, out) => copyInt64(values, row, out);
    return (row, out) => writeInt64(BigInt(read(row)), out);
  }
  if (oid === OID.int2) return (row, out) => writeInt16(Number(read(row)), out);
  if (oid === OID.float8) return (row, out) => writeFloat64(Number(read(row)), out);
  if (INTS_OF_32_BITS.has(oid)) return (row, out) => writeInt32(Number(read(row)), out);
  return (row, out) => out.text(String(read(row)));
}

const INTS_OF_32_BITS: ReadonlySet<number> = new Set([
  OID.int4,
  OID.oid,
  OID.regclass,
  OID.regproc,
  OID.regtype,
]);

function writeFloat64(value: number, out: ByteBuilder): void {
  out.reserve(8);
  out.view.setFloat64(out.length, value);
  out.length += 8;
}

function writeInt16(value: number, out: ByteBuilder): void {
  out.reserve(2);
  out.view.setInt16(out.length, value);
  out.length += 2;
}

function writeInt32(value: number, out: ByteBuilder): void {
  out.reserve(4);
  out.view.setInt32(out.length, value);
  out.length += 4;
}

function writeInt64(value: bigint, out: ByteBuilder): void {
  out.reserve(8);
  out.view.setBigInt64(out.length, value);
  out.length += 8;
}

function copyInt64(values: DataView, row: number, out: ByteBuilder): void {
  out.reserve(8);
  out.view.setUint32(out.length, values.getUint32(8 * row + 4, true));
  out.view.setUint32(out.length + 4, values.getUint32(8 * row, true));
  out.length += 8;
}

function floatWriter({ values }: ArrowColumn, bytes: 4 | 8, isBinary: boolean): CellWriter {
  if (bytes === 4) {
    const read = (row: number) => values.getFloat32(4 * row, true);
    if (!isBinary) return (row, out) => out.text(float4Text(read(row)));
    return (row, out) => {
      out.reserve(4);
      out.view.setFloat32(out.length, read(row));
      out.length += 4;
    };
  }
  const read = (row: number) => values.getFloat64(8 * row, true);
  if (!isBinary) return (row, out) => out.text(float8Text(read(row)));
  return (row, out) => writeFloat64(read(row), out);
}

function decimalWriter({ values }: ArrowColumn, scale: number, isBinary: boolean): CellWriter {
  const textAt = (row: number) => {
    const low = values.getBigUint64(16 * row, true);
    const high = values.getBigInt64(16 * row + 8, true);
    return decimalText((high << 64n) | low, scale);
  };
  if (isBinary) return (row, out) => writeNumeric(textAt(row), out);
  return (row, out) => out.text(textAt(row));
}

function dateWriter({ values }: ArrowColumn, isBinary: boolean): CellWriter {
  const read = (row: number) => values.getInt32(4 * row, true);
  if (isBinary) {
    return (row, out) => {
      const days = read(row);
      if (days === DATE_INFINITY) return writeInt32(days, out);
      writeInt32(days === -DATE_INFINITY ? PG_DATE_MIN : days - PG_EPOCH_DAYS, out);
    };
  }
  return (row, out) => {
    const days = read(row);
    if (Math.abs(days) === DATE_INFINITY) out.text(days > 0 ? "infinity" : "-infinity");
    else out.text(dateText(days));
  };
}

function timeWriter({ values }: ArrowColumn, isBinary: boolean): CellWriter {
  if (isBinary) return (row, out) => copyInt64(values, row, out);
  return (row, out) => out.text(timeText(Number(values.getBigInt64(8 * row, true))));
}

function instantWriter(
  { values }: ArrowColumn,
  { oid, layout }: ColumnType,
  isBinary: boolean,
): CellWriter {
  const perSecond = layout.kind === "instant" ? layout.perSecond : MICROS;
  if (isBinary && perSecond === MICROS) {
    return (row, out) => copyInstant(values, row, out);
  }
  const micros = microsReader(values, perSecond);
  if (isBinary) return (row, out) => writeInstant(micros(row), out);
  const zone = oid === OID.timestamptz ? "+00" : "";
  return (row, out) => {
    const value = micros(row);
    if (value === INSTANT_INFINITY || value === -INSTANT_INFINITY) {
      return out.text(value > 0n ? "infinity" : "-infinity");
    }
    let secs = Number(value / 1_000_000n);
    let rest = Number(value % 1_000_000n);
    if (rest < 0) {
      secs -= 1;
      rest += MICROS;
    }
    out.text(timestampText(splitInstant(secs, rest), zone));
  };
}

/** Microseconds of 1970 as those of 2000, without a BigInt for each. */
function copyInstant(values: DataView, row: number, out: ByteBuilder): void {
  const high = values.getInt32(8 * row + 4, true);
  if (high < -NEAR_HIGH || high >= NEAR_HIGH) {
    return writeInstant(values.getBigInt64(8 * row, true), out);
  }
  const micros = high * HIGH + values.getUint32(8 * row, true) - PG_EPOCH;
  out.reserve(8);
  out.view.setInt32(out.length, Math.floor(micros / HIGH));
  out.view.setUint32(out.length + 4, micros);
  out.length += 8;
}

function writeInstant(micros: bigint, out: ByteBuilder): void {
  out.reserve(8);
  const at = out.length;
  out.length += 8;
  if (micros === INSTANT_INFINITY) out.view.setBigInt64(at, INSTANT_INFINITY);
  else if (micros === -INSTANT_INFINITY) out.view.setBigInt64(at, PG_INSTANT_MIN);
  else if (micros < PG_INSTANT_MIN + PG_EPOCH_MICROS) throw tooEarly();
  else out.view.setBigInt64(at, micros - PG_EPOCH_MICROS);
}

function tooEarly(): Error {
  return pgError("22008", "Cannot send a timestamp from before the year 290278 BC in binary", {
    hint: "Ask for it as a text: timestamp::VARCHAR.",
  });
}

/** Finer units are cut, towards the past. Infinity stays what it is. */
function microsReader(values: DataView, perSecond: number): (row: number) => bigint {
  const read = (row: number) => values.getBigInt64(8 * row, true);
  if (perSecond === MICROS) return read;
  const isInfinite = (value: bigint) => value === INSTANT_INFINITY || value === -INSTANT_INFINITY;
  if (perSecond < MICROS) {
    const factor = BigInt(MICROS / perSecond);
    return (row) => {
      const value = read(row);
      return isInfinite(value) ? value : value * factor;
    };
  }
  const divisor = BigInt(perSecond / MICROS);
  return (row) => {
    const value = read(row);
    if (isInfinite(value)) return value;
    const micros = value / divisor;
    return value % divisor < 0n ? micros - 1n : micros;
  };
}

function textsWriter(
  column: ArrowColumn,
  { oid, style }: ColumnType,
  isBinary: boolean,
): CellWriter {
  const { values } = column;
  const offsets = present(column.offsets, "offsets of texts");
  const bytesAt = (row: number) => {
    const from = offsets.getInt32(4 * row, true);
    const to = offsets.getInt32(4 * row + 4, true);
    return new Uint8Array(values.buffer, values.byteOffset + from, to - from);
  };
  if (oid === OID.bytea && !isBinary) return (row, out) => out.text(`\\x${bytesAt(row).toHex()}`);
  if (oid === OID.interval) {
    const intervalAt = (row: number) => parseInterval(textOf(bytesAt(row)));
    return intervalWriter(
      intervalAt,
      style === "iso_8601" ? isoIntervalText : intervalText,
      isBinary,
    );
  }
  if (isBinary && oid === OID.numeric) {
    return (row, out) => writeNumeric(textOf(bytesAt(row)), out);
  }
  if (isBinary && oid === OID.uuid) {
    return (row, out) => out.append(Uint8Array.fromHex(textOf(bytesAt(row)).replaceAll("-", "")));
  }
  return (row, out) =>
    out.copy(values, offsets.getInt32(4 * row, true), offsets.getInt32(4 * row + 4, true));
}

function intervalWriter(
  intervalAt: (row: number) => Interval,
  textOfInterval: (interval: Interval) => string,
  isBinary: boolean,
): CellWriter {
  if (!isBinary) return (row, out) => out.text(textOfInterval(intervalAt(row)));
  return (row, out) => {
    const { months, days, micros } = intervalAt(row);
    writeInt64(micros, out);
    writeInt32(days, out);
    writeInt32(months, out);
  };
}

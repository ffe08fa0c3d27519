/**
 * Values of a Bind message as the engine binds them. A value of a known type becomes a typed one;
 * one of no or of a text type is what a quoted text in the statement would be.
 */

import { textOf, utf8 } from "../../../shared/base/bytes.ts";
import type {
  ParameterType,
  ParameterValue,
  TypedParameter,
} from "../../../shared/engine/types.ts";
import { pgError } from "../sqlstate.ts";
import { parseArrayText } from "../../../shared/engine/statement/array_text.ts";
import { type Format, TEXT_FORMAT } from "./formats.ts";
import { readNumeric } from "./numeric_binary.ts";
import { itemOid, OID } from "./oids.ts";
import { dateText, splitInstant, timestampText, timeText } from "./value_texts.ts";

/** One parameter as it was sent. */
export interface SentParameter {
  /** null: NULL. */
  readonly bytes: Uint8Array | null;
  readonly format: Format;
  /** 0: the client leaves it open. */
  readonly oid: number;
}

const TYPES: Readonly<Record<number, ParameterType>> = {
  [OID.bool]: "BOOLEAN",
  [OID.int2]: "SMALLINT",
  [OID.int4]: "INTEGER",
  [OID.int8]: "BIGINT",
  [OID.oid]: "BIGINT",
  [OID.regclass]: "BIGINT",
  [OID.float4]: "FLOAT",
  [OID.float8]: "DOUBLE",
  [OID.numeric]: "DOUBLE",
  [OID.bytea]: "BLOB",
  [OID.date]: "DATE",
  [OID.time]: "TIME",
  [OID.timestamp]: "TIMESTAMP",
  [OID.timestamptz]: "TIMESTAMPTZ",
  [OID.interval]: "INTERVAL",
  [OID.uuid]: "UUID",
};

/** The most items of an array of a statement. */
const ITEMS_MAX = 10_000;

/** `number`: the parameter's, from 1. Errors: those of its type, with PostgreSQL's SQLSTATE. */
export function parameterValue(sent: SentParameter, number: number): ParameterValue {
  try {
    return valueOf(sent);
  } catch (error) {
    if (!(error instanceof MalformedValue)) throw error;
    const sqlstate = sent.format === TEXT_FORMAT ? "22P02" : "22P03";
    throw pgError(
      sqlstate,
      `Cannot read the value of $${number} as a value of type ${sent.oid}: ${error.message}`,
    );
  }
}

/** NULL of the type, for statements that are described before they have values. */
export function nullOfType(oid: number): ParameterValue {
  const value = valueOf({ bytes: null, format: TEXT_FORMAT, oid });
  return value === null ? { type: "VARCHAR", text: null } : value;
}

/** Some value of the type; NULL of an array. */
export function sampleOfType(oid: number): ParameterValue {
  if (itemOid(oid) !== undefined) return nullOfType(oid);
  return valueOf({ bytes: utf8(SAMPLES[oid] ?? "1"), format: TEXT_FORMAT, oid });
}

const SAMPLES: Readonly<Record<number, string>> = {
  [OID.date]: "2000-01-01",
  [OID.time]: "00:00:00",
  [OID.timestamp]: "2000-01-01 00:00:00",
  [OID.timestamptz]: "2000-01-01 00:00:00+00",
  [OID.interval]: "1 day",
  [OID.uuid]: "00000000-0000-0000-0000-000000000000",
};

/** A value that its type does not have. */
class MalformedValue extends Error {}

function valueOf({ bytes, format, oid }: SentParameter): ParameterValue {
  const item = itemOid(oid);
  if (item !== undefined) return arrayOf(bytes, format, item);
  const text = bytes === null
    ? null
    : format === TEXT_FORMAT
    ? fromText(utf8Text(bytes), oid)
    : fromBinary(bytes, oid);
  const type = TYPES[oid];
  if (type === undefined) return text;
  if (oid === OID.numeric) return numericOf(text);
  return { type, text };
}

function utf8Text(bytes: Uint8Array): string {
  try {
    return textOf(bytes);
  } catch {
    throw new MalformedValue("it is not UTF-8");
  }
}

/** A text that DuckDB's cast to the type reads. */
function fromText(text: string, oid: number): string {
  if (oid === OID.bool) return boolText(text);
  if (oid === OID.bytea) return blobText(byteaBytes(text));
  if (oid === OID.interval) return text.replaceAll(/\+(?=\d)/g, "");
  if (ERAS.has(oid)) return withEra(text);
  return text.trim() === "" && TYPES[oid] !== undefined ? malformed(JSON.stringify(text)) : text;
}

const ERAS: ReadonlySet<number> = new Set([OID.date, OID.timestamp, OID.timestamptz]);
/** `13:00:00 +00:00`, as Ruby writes it: DuckDB takes what is behind a blank for a zone's name. */
export const BLANK_BEFORE_OFFSET = /(?<=:\d\d(?:\.\d*)?) +(?=[+-]\d|Z$)/i;
const TRUE = /^(?:t|tr|tru|true|y|ye|yes|on|1)$/i;
const FALSE = /^(?:f|fa|fal|fals|false|n|no|of|off|0)$/i;

function boolText(text: string): string {
  const word = text.trim();
  if (TRUE.test(word)) return "true";
  return FALSE.test(word) ? "false" : malformed(JSON.stringify(text));
}

/** Digits and scale are the value's own. What no decimal holds is a double. */
function numericOf(text: string | null): TypedParameter {
  if (text === null) return { type: "DECIMAL(18,3)", text };
  const found = /^\s*[+-]?(\d*)(?:\.(\d*))?\s*$/.exec(text);
  const [whole, fraction] = [found?.[1] ?? "", found?.[2] ?? ""];
  const digits = whole.replace(/^0+/, "").length + fraction.length;
  if (found === null || whole + fraction === "" || digits > DECIMAL_DIGITS_MAX) {
    if (
      !/^\s*(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|nan|[+-]?inf(?:inity)?)\s*$/i.test(text)
    ) {
      return malformed(JSON.stringify(text));
    }
    return { type: "DOUBLE", text };
  }
  return { type: `DECIMAL(${Math.max(digits, 1)},${fraction.length})`, text };
}

const DECIMAL_DIGITS_MAX = 38;

function byteaBytes(text: string): Uint8Array {
  if (text.startsWith("\\x")) {
    try {
      return Uint8Array.fromHex(text.slice(2));
    } catch {
      return malformed("its hexadecimal digits");
    }
  }
  const bytes: number[] = [];
  const rest = new TextEncoder().encode(text);
  for (let at = 0; at < rest.length; at += 1) {
    const byte = rest[at] ?? 0;
    if (byte !== BACKSLASH) bytes.push(byte);
    else if (rest[at + 1] === BACKSLASH) bytes.push(rest[at += 1] ?? 0);
    else {
      const octal = String.fromCharCode(...rest.subarray(at + 1, at + 4));
      if (!/^[0-3][0-7]{2}$/.test(octal)) malformed("its escapes");
      bytes.push(Number.parseInt(octal, 8));
      at += 3;
    }
  }
  return Uint8Array.from(bytes);
}

const BACKSLASH = 0x5c;

/** DuckDB reads `\xAB` for a byte. */
function blobText(bytes: Uint8Array): string {
  return bytes.toHex().replaceAll(/../g, "\\x$&");
}

const PG_EPOCH_DAYS = 10_957;
const PG_EPOCH_SECS = 946_684_800;
const MICROS = 1_000_000n;
const INFINITE = 0x7fff_ffff_ffff_ffffn;
const MINUS_INFINITE = -0x8000_0000_0000_0000n;

function fromBinary(bytes: Uint8Array, oid: number): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sized = (size: number) => {
    if (bytes.byteLength !== size) malformed(`${bytes.byteLength} bytes, and it has ${size}`);
    return view;
  };
  switch (oid) {
    case OID.bool:
      return sized(1).getUint8(0) === 0 ? "false" : "true";
    case OID.int2:
      return String(sized(2).getInt16(0));
    case OID.int4:
      return String(sized(4).getInt32(0));
    case OID.oid:
    case OID.regclass:
      return String(sized(4).getUint32(0));
    case OID.int8:
      return String(sized(8).getBigInt64(0));
    case OID.float4:
      return doubleText(sized(4).getFloat32(0));
    case OID.float8:
      return doubleText(sized(8).getFloat64(0));
    case OID.numeric:
      return readNumeric(bytes) ?? malformed("its digits");
    case OID.bytea:
      return blobText(bytes);
    case OID.date:
      return dateOf(sized(4).getInt32(0));
    case OID.time:
      return timeText(Number(sized(8).getBigInt64(0)));
    case OID.timestamp:
      return instantOf(sized(8).getBigInt64(0), "");
    case OID.timestamptz:
      return instantOf(sized(8).getBigInt64(0), "+00");
    case OID.interval: {
      const micros = sized(16).getBigInt64(0);
      return `${view.getInt32(12)} months ${view.getInt32(8)} days ${micros} microseconds`;
    }
    case OID.uuid:
      sized(16);
      return bytes.toHex().replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
    case OID.jsonb:
      // Its first byte is a version.
      return utf8Text(bytes.subarray(1));
    default:
      return utf8Text(bytes);
  }
}

function doubleText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/** DuckDB has `(BC)` behind the day, and an offset without a blank before it. */
function withEra(text: string): string {
  if (text.length > TIME_LENGTH_MAX) return text;
  return text.replace(BLANK_BEFORE_OFFSET, "").replace(/^\s*(\S+)(.*?)\s*BC\s*$/i, "$1 (BC)$2");
}

/** No date or time is longer. The pattern above takes much longer for a longer text. */
export const TIME_LENGTH_MAX = 100;

function dateOf(days: number): string {
  if (days === 0x7fff_ffff) return "infinity";
  return days === -0x8000_0000 ? "-infinity" : withEra(dateText(days + PG_EPOCH_DAYS));
}

function instantOf(value: bigint, zone: "" | "+00"): string {
  if (value === INFINITE) return "infinity";
  if (value === MINUS_INFINITE) return "-infinity";
  const micros = (value % MICROS + MICROS) % MICROS;
  const secs = Number((value - micros) / MICROS) + PG_EPOCH_SECS;
  return withEra(timestampText(splitInstant(secs, Number(micros)), zone));
}

function arrayOf(bytes: Uint8Array | null, format: Format, item: number): ParameterValue {
  const type = item === OID.numeric ? "DOUBLE" : TYPES[item] ?? "VARCHAR";
  if (bytes === null) return { type, items: null };
  const items = format === TEXT_FORMAT
    ? parseArrayText(utf8Text(bytes), ITEMS_MAX)?.map((text) =>
      text === null ? null : fromText(text, item)
    )
    : binaryItems(bytes, item);
  return { type, items: items ?? malformed("not an array of one dimension that is short enough") };
}

function binaryItems(bytes: Uint8Array, item: number): (string | null)[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 12) return undefined;
  const dimensions = view.getInt32(0);
  if (dimensions === 0) return [];
  if (dimensions !== 1 || bytes.byteLength < 20) return undefined;
  const count = view.getInt32(12);
  if (count < 0 || count > ITEMS_MAX) return undefined;
  const items: (string | null)[] = [];
  let at = 20;
  for (let i = 0; i < count; i += 1) {
    if (at + 4 > bytes.byteLength) return undefined;
    const length = view.getInt32(at);
    at += 4;
    if (length > bytes.byteLength - at) return undefined;
    items.push(length < 0 ? null : fromBinary(bytes.subarray(at, at + length), item));
    at += Math.max(length, 0);
  }
  return items;
}

function malformed(what: string): never {
  throw new MalformedValue(what);
}

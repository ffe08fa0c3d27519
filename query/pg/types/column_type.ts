/**
 * PostgreSQL's types for DuckDB's, and how their values lie in an Arrow batch of shape
 * `arrow_flat`. README.md, "Types", is the table for people.
 */

import { ARRAY_OID, OID, sizeOfType } from "./oids.ts";

/** How a column of an Arrow batch lies in memory. */
export type Layout =
  | { readonly kind: "bool" }
  | { readonly kind: "texts" }
  | { readonly kind: "float4" }
  | { readonly kind: "float8" }
  | IntLayout
  /** 16 bytes, a whole number of units of `10 ** -scale`. */
  | { readonly kind: "decimal"; readonly scale: number }
  /** Units of a second, so many. */
  | { readonly kind: "instant"; readonly perSecond: number }
  | { readonly kind: "list"; readonly item: Layout };

export interface IntLayout {
  readonly kind: "int";
  readonly bytes: 1 | 2 | 4 | 8;
  readonly isSigned: boolean;
}

/** A column of an answer. */
export interface ColumnType {
  readonly oid: number;
  readonly size: number;
  readonly typmod: number;
  readonly layout: Layout;
  /** Set for arrays. */
  readonly item?: ColumnType;
  /** How texts of intervals are written. */
  readonly style?: IntervalStyle;
}

/** What the setting `IntervalStyle` can be. */
export const INTERVAL_STYLES = ["postgres", "iso_8601"] as const;
export type IntervalStyle = typeof INTERVAL_STYLES[number];

const TEXTS: Layout = { kind: "texts" };
const int = (bytes: 1 | 2 | 4 | 8, isSigned = true): Layout => ({ kind: "int", bytes, isSigned });
const instant = (perSecond: number): Layout => ({ kind: "instant", perSecond });
const WHOLE: Layout = { kind: "decimal", scale: 0 };

/** By DuckDB's name. What is not here goes out as text. */
const TYPES: Readonly<Record<string, readonly [oid: number, layout: Layout]>> = {
  BOOLEAN: [OID.bool, { kind: "bool" }],
  TINYINT: [OID.int2, int(1)],
  SMALLINT: [OID.int2, int(2)],
  INTEGER: [OID.int4, int(4)],
  BIGINT: [OID.int8, int(8)],
  UTINYINT: [OID.int2, int(1, false)],
  USMALLINT: [OID.int4, int(2, false)],
  UINTEGER: [OID.int8, int(4, false)],
  UBIGINT: [OID.numeric, int(8, false)],
  HUGEINT: [OID.numeric, WHOLE],
  UHUGEINT: [OID.numeric, TEXTS],
  FLOAT: [OID.float4, { kind: "float4" }],
  DOUBLE: [OID.float8, { kind: "float8" }],
  VARCHAR: [OID.text, TEXTS],
  BLOB: [OID.bytea, TEXTS],
  DATE: [OID.date, int(4)],
  TIME: [OID.time, int(8)],
  TIMESTAMP: [OID.timestamp, instant(1_000_000)],
  TIMESTAMP_S: [OID.timestamp, instant(1_000)],
  TIMESTAMP_MS: [OID.timestamp, instant(1_000)],
  TIMESTAMP_NS: [OID.timestamp, instant(1_000_000_000)],
  "TIMESTAMP WITH TIME ZONE": [OID.timestamptz, instant(1_000_000)],
  INTERVAL: [OID.interval, TEXTS],
  UUID: [OID.uuid, TEXTS],
  JSON: [OID.json, TEXTS],
  '"NULL"': [OID.text, int(4)],
};

/** The modifier of `numeric(p,s)`: both and four bytes. */
const NUMERIC_TYPMOD_BASE = 4;

/** What a statement may know of a type besides DuckDB's name of it. */
export interface TypeContext {
  /** PostgreSQL's catalog has OIDs as UINTEGER. */
  readonly isOfCatalog?: boolean | undefined;
  /** Default `postgres`. */
  readonly intervalStyle?: IntervalStyle | undefined;
}

/** The type of an answer's column by DuckDB's name of it. */
export function columnTypeOf(text: string, context: TypeContext = {}): ColumnType {
  const itemText = /^(.*)\[\d*\]$/s.exec(text)?.[1];
  if (itemText !== undefined) return arrayType(itemText, context);
  if (/^(?:STRUCT|MAP|UNION)\b/.test(text)) return plain(OID.json, TEXTS);
  const [, width, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(text) ?? [];
  if (width !== undefined) {
    const typmod = (Number(width) << 16 | Number(scale)) + NUMERIC_TYPMOD_BASE;
    return { ...plain(OID.numeric, { kind: "decimal", scale: Number(scale) }), typmod };
  }
  if (text === "UINTEGER" && context.isOfCatalog === true) return plain(OID.oid, int(4, false));
  const { intervalStyle: style } = context;
  if (text === "INTERVAL" && style !== undefined) return { ...plain(OID.interval, TEXTS), style };
  const known = TYPES[text];
  return known === undefined ? plain(OID.text, TEXTS) : plain(...known);
}

/** Lists of lists may have lists of different lengths, which no array has: they are JSON. */
function arrayType(itemText: string, context: TypeContext): ColumnType {
  const item = columnTypeOf(itemText, context);
  const oid = ARRAY_OID[item.oid];
  const isNested = item.item !== undefined || /^(?:STRUCT|MAP|UNION)\b/.test(itemText);
  if (isNested || oid === undefined || itemText === '"NULL"') return plain(OID.json, TEXTS);
  return { ...plain(oid, { kind: "list", item: item.layout }), item };
}

function plain(oid: number, layout: Layout): ColumnType {
  return { oid, size: sizeOfType(oid), typmod: -1, layout };
}

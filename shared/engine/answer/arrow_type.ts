/**
 * Arrow's types for DuckDB's, and what stands in a statement for a value that goes out as Arrow.
 *
 * | DuckDB | Arrow |
 * |---|---|
 * | BOOLEAN, integers of 8 to 64 bits, FLOAT, DOUBLE | the same |
 * | DECIMAL(p,s), HUGEINT | decimal128(p,s), decimal128(38,0) |
 * | VARCHAR, JSON, BLOB | utf8, utf8, binary |
 * | DATE, TIME | date32, time64 in microseconds |
 * | TIMESTAMP, _MS, _NS | timestamp in its unit |
 * | TIMESTAMP_S | timestamp in milliseconds, since Parquet has no seconds |
 * | TIMESTAMP WITH TIME ZONE | timestamp in microseconds, UTC |
 * | LIST, ARRAY, STRUCT, MAP of these | list, list, struct, map |
 * | NULL | int32 |
 * | anything else | utf8: its text, a nested value's JSON |
 */

import type { ArrowField, ArrowType } from "../arrow_fields.ts";
import type { DescribedColumn, EngineType } from "../duckdb/driver.ts";
import { answerTextSql } from "./render.ts";

const UTF8: ArrowType = { kind: "utf8" };
const INT32: ArrowType = { kind: "int", bytes: 4, isSigned: true };

const LEAVES: Readonly<Record<string, ArrowType>> = {
  BOOLEAN: { kind: "bool" },
  TINYINT: { kind: "int", bytes: 1, isSigned: true },
  SMALLINT: { kind: "int", bytes: 2, isSigned: true },
  INTEGER: INT32,
  BIGINT: { kind: "int", bytes: 8, isSigned: true },
  UTINYINT: { kind: "int", bytes: 1, isSigned: false },
  USMALLINT: { kind: "int", bytes: 2, isSigned: false },
  UINTEGER: { kind: "int", bytes: 4, isSigned: false },
  UBIGINT: { kind: "int", bytes: 8, isSigned: false },
  HUGEINT: { kind: "decimal", precision: 38, scale: 0, bytes: 16 },
  FLOAT: { kind: "float" },
  DOUBLE: { kind: "double" },
  VARCHAR: UTF8,
  JSON: UTF8,
  BLOB: { kind: "binary" },
  DATE: { kind: "date" },
  TIME: { kind: "time" },
  TIMESTAMP: { kind: "timestamp", unit: "us" },
  TIMESTAMP_S: { kind: "timestamp", unit: "ms" },
  TIMESTAMP_MS: { kind: "timestamp", unit: "ms" },
  TIMESTAMP_NS: { kind: "timestamp", unit: "ns" },
  TIMESTAMP_TZ: { kind: "timestamp", unit: "us", zone: "UTC" },
};

/** The Arrow type of a column of an answer. */
export function arrowTypeOf(type: EngineType): ArrowType {
  if (type.kind === "SQLNULL") return INT32;
  return sameType(type.kind === "ARRAY" ? { ...type, kind: "LIST" } : type) ?? UTF8;
}

/** SQL for a value as `arrowTypeOf` says it is. */
export function arrowValueSql(value: string, type: EngineType): string {
  const { kind, item } = type;
  if (kind === "SQLNULL") return `${value}::INTEGER`;
  if (kind === "ARRAY" && item !== undefined && sameType(item) !== undefined) {
    return `${value}::${millisText(item)}[]`;
  }
  if (sameType(type) === undefined) return answerTextSql(value, type);
  const text = millisText(type);
  return text === type.text ? value : `${value}::${text}`;
}

/** DuckDB's name of the type, with milliseconds for seconds. Names of fields are in quotes. */
function millisText({ text }: EngineType): string {
  return text.replaceAll(
    /"(?:[^"]|"")*"|TIMESTAMP_S\b/g,
    (word) => word === "TIMESTAMP_S" ? "TIMESTAMP_MS" : word,
  );
}

/** The Arrow type of a column whose values are single, or lists of such. */
export function flatTypeOf(type: EngineType): ArrowType {
  const item = flatItem(type);
  if (item !== undefined) {
    return { kind: "list", item: LEAVES[item.kind] ?? decimalType(item) ?? UTF8 };
  }
  return isNested(type) ? UTF8 : arrowTypeOf(type);
}

/** SQL for a value as `flatTypeOf` says it is. */
export function flatValueSql(value: string, type: EngineType): string {
  const item = flatItem(type);
  if (item === undefined) {
    return isNested(type) ? answerTextSql(value, type) : arrowValueSql(value, type);
  }
  if (sameType(item) !== undefined) return arrowValueSql(value, type);
  return `system.main.list_transform(${value}, lambda e: ${answerTextSql("e", item)})`;
}

/** The type of the items, where the type is a list of single values. */
function flatItem({ kind, item }: EngineType): EngineType | undefined {
  const isList = kind === "LIST" || kind === "ARRAY";
  return isList && item !== undefined && !isNested(item) && item.kind !== "SQLNULL"
    ? item
    : undefined;
}

function isNested({ kind }: EngineType): boolean {
  return ["LIST", "ARRAY", "STRUCT", "MAP"].includes(kind);
}

/** Fields of an answer's columns. */
export function arrowFieldsOf(
  columns: readonly DescribedColumn[],
  names: readonly string[],
): ArrowField[] {
  return columns.map(({ type }, at) => ({ name: names[at] ?? "", type: arrowTypeOf(type) }));
}

/** The type whose values lie in DuckDB's vectors nearly as Arrow wants them; none for others. */
function sameType(type: EngineType): ArrowType | undefined {
  const { kind, item, key, fields } = type;
  if (kind === "DECIMAL") return decimalType(type);
  if (kind === "LIST") {
    const itemType = item && sameType(item);
    return itemType && { kind: "list", item: itemType };
  }
  if (kind === "MAP") {
    const [keyType, valueType] = [key && sameType(key), item && sameType(item)];
    return keyType && valueType && { kind: "map", key: keyType, value: valueType };
  }
  if (kind === "STRUCT") {
    const typed = (fields ?? []).map(({ name, type }) => ({ name, type: sameType(type) }));
    return typed.every(isTyped) ? { kind: "struct", fields: typed } : undefined;
  }
  return LEAVES[kind];
}

function isTyped(
  field: { readonly name: string; readonly type: ArrowType | undefined },
): field is ArrowField {
  return field.type !== undefined;
}

function decimalType({ text }: EngineType): ArrowType | undefined {
  const [, digits = "", scale = ""] = /^DECIMAL\((\d+),(\d+)\)$/.exec(text) ?? [];
  if (digits === "") return undefined;
  const precision = Number(digits);
  const bytes = precision <= 4 ? 2 : precision <= 9 ? 4 : precision <= 18 ? 8 : 16;
  return { kind: "decimal", precision, scale: Number(scale), bytes };
}

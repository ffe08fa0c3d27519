/** Which of our column types a column of a Parquet file has. */

import type { SchemaElement } from "hyparquet";
import type { ColumnType } from "../../schema/schema.ts";

/** Undefined for a type that the writer has not. */
export function columnTypeOf(
  { type, converted_type: converted }: SchemaElement,
): ColumnType | undefined {
  if (type === "INT64") return converted === "TIMESTAMP_MICROS" ? "timestamptz" : "long";
  if (type === "BYTE_ARRAY" && converted === "UTF8") return "string";
  if (type === "INT32" && converted === undefined) return "int";
  if (type === "DOUBLE") return "double";
  return type === "BOOLEAN" ? "bool" : undefined;
}

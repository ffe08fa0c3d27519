/** The columns of a table, asked by a statement: every client that can send SQL can ask so. */

import { isJsonObject } from "../document/json_object.ts";
import { quoteName } from "../engine/duckdb/statement_text.ts";
import { instantSql } from "./instant_sql.ts";
import type { Column, ColumnType } from "../schema/schema.ts";

const TYPES: Readonly<Record<string, ColumnType>> = {
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  BIGINT: "long",
  INTEGER: "int",
  DOUBLE: "double",
  BOOLEAN: "bool",
  VARCHAR: "string",
};

/**
 * The statement that `describedColumns` reads the answer of. An empty table has an answer, too. The
 * bound on the time leaves out every file, so the statement is a cheap one.
 */
export function describingSql(table: string): string {
  return "SELECT typeof(COLUMNS(t.*)) FROM (VALUES (1)) AS one(row) " +
    `LEFT JOIN (SELECT * FROM ${quoteName(table)} ` +
    `WHERE timestamp < ${instantSql("0001-01-01T00:00:00Z")} LIMIT 0) AS t ON TRUE`;
}

/** Returns the columns as statements see them. Their ids are places, not field ids. */
export function describedColumns(
  { columns, rows: [row = []] }: {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly unknown[])[];
  },
): readonly Column[] {
  return columns.flatMap((name, at) => {
    const type = TYPES[String(row[at])];
    return type === undefined ? [] : [{ id: at + 1, name, type, required: false }];
  });
}

/** The texts of tables that nobody configured, of logs and of spans. */
const TEXTS = ["raw", "name"];

/**
 * Returns the columns in which a term without a field looks for words. An index says so in its
 * configuration (docs/api/query.md#index-configuration). Any other table has `raw`, or the `name`
 * of a span.
 */
export function textsOfIndex(config: unknown): readonly string[] {
  const mapping = isJsonObject(config) ? config["doc_mapping"] : undefined;
  const fields = isJsonObject(mapping) ? mapping["field_mappings"] : undefined;
  const texts = (Array.isArray(fields) ? fields : []).filter(isJsonObject)
    .filter((field) => field["type"] === "text" && field["tokenizer"] !== "raw")
    .map((field) => String(field["name"]));
  return texts.length === 0 ? TEXTS : texts;
}

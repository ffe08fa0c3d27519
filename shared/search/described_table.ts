/** The columns of a table, asked by a statement: every client that can send SQL can ask so. */

import { quoteName } from "../engine/duckdb/statement_text.ts";
import type { Column, ColumnType } from "../schema/schema.ts";

const TYPES: Readonly<Record<string, ColumnType>> = {
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  BIGINT: "long",
  INTEGER: "int",
  DOUBLE: "double",
  BOOLEAN: "bool",
  VARCHAR: "string",
};

/** The statement that `describedColumns` reads the answer of. An empty table has an answer, too. */
export function describingSql(table: string): string {
  return "SELECT typeof(COLUMNS(t.*)) FROM (VALUES (1)) AS one(row) " +
    `LEFT JOIN (SELECT * FROM ${quoteName(table)} LIMIT 0) AS t ON TRUE`;
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

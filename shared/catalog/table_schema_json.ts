/**
 * Columns of a table as the text that a catalog keeps beside its pointer:
 * `CatalogReader.tableSchemas`.
 */

import { z } from "zod";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { TableSchema } from "../schema/schema.ts";

const COLUMN = z.object({
  id: z.int(),
  name: z.string(),
  type: z.enum(["timestamptz", "long", "int", "double", "bool", "string"]),
  required: z.boolean(),
  doc: z.string().exactOptional(),
});

const SCHEMA = z.object({
  columns: z.array(COLUMN),
  tags: z.array(z.string()),
  promoted: z.array(z.string()).exactOptional(),
});

/** Errors: `corrupt`, naming `table`. */
export function parseTableSchema(table: string, text: string): TableSchema {
  try {
    return SCHEMA.parse(JSON.parse(text));
  } catch (cause) {
    throw new OperatingError(
      "corrupt",
      `Cannot read the columns of table ${table} in the catalog: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/** The schema as the catalog stores it. */
export function tableSchemaText(schema: TableSchema): string {
  return JSON.stringify(schema);
}

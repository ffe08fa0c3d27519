/** Columns of tables beside their pointers: `TableCommit.schema` and `CatalogReader.tableSchemas` in SQLite. */

import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { TableSchema } from "../event/schema.ts";
import type { TableIdent } from "../event/tenant.ts";
import { hasTable } from "./sqlite_schema.ts";

const COLUMN = z.object({
  id: z.int(),
  name: z.string(),
  type: z.enum(["timestamptz", "long", "int", "double", "bool", "string"]),
  required: z.boolean(),
  doc: z.string().exactOptional(),
});

const SCHEMA = z.object({ columns: z.array(COLUMN), tags: z.array(z.string()) });

export function putSchema(db: DatabaseSync, ident: TableIdent, schema: TableSchema): void {
  db.prepare(
    "INSERT INTO svc_table_schemas (table_namespace, table_name, schema) VALUES (?1, ?2, ?3) " +
      "ON CONFLICT DO UPDATE SET schema = ?3 WHERE schema <> ?3",
  ).run(ident.namespace, ident.name, JSON.stringify(schema));
}

export function dropSchema(db: DatabaseSync, ident: TableIdent): void {
  db.prepare("DELETE FROM svc_table_schemas WHERE table_namespace = ? AND table_name = ?")
    .run(ident.namespace, ident.name);
}

export function schemasOf(
  db: DatabaseSync,
  options: { readonly catalogName: string; readonly namespace: string },
): ReadonlyMap<string, TableSchema> {
  if (!hasTable(db, "svc_table_schemas")) return new Map();
  const rows = db.prepare(
    "SELECT table_name AS name, schema FROM svc_table_schemas JOIN iceberg_tables " +
      "USING (table_namespace, table_name) WHERE catalog_name = ? AND table_namespace = ?",
  ).all(options.catalogName, options.namespace);
  return new Map(rows.map(({ name, schema }) => [String(name), parse(String(name), schema)]));
}

function parse(name: string, text: unknown): TableSchema {
  try {
    return SCHEMA.parse(JSON.parse(String(text)));
  } catch (cause) {
    throw new OperatingError(
      "corrupt",
      `Cannot read the columns of table ${name} in the catalog: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/**
 * Columns of tables beside their pointers: `TableCommit.schema` and `CatalogReader.tableSchemas` in
 * SQLite.
 */

import type { DatabaseSync } from "node:sqlite";
import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { hasTable } from "./sqlite_schema.ts";
import { parseTableSchema, tableSchemaText } from "./table_schema_json.ts";

/** Records the schema of a table, within the caller's transaction. */
export function putSchema(db: DatabaseSync, ident: TableIdent, schema: TableSchema): void {
  db.prepare(
    "INSERT INTO svc_table_schemas (table_namespace, table_name, schema) VALUES (?1, ?2, ?3) " +
      "ON CONFLICT DO UPDATE SET schema = ?3 WHERE schema <> ?3",
  ).run(ident.namespace, ident.name, tableSchemaText(schema));
}

/** Forgets the schema of a table, within the caller's transaction. */
export function dropSchema(db: DatabaseSync, ident: TableIdent): void {
  db.prepare("DELETE FROM svc_table_schemas WHERE table_namespace = ? AND table_name = ?")
    .run(ident.namespace, ident.name);
}

/** The schemas of a namespace's tables, by table name. */
export function schemasOf(
  db: DatabaseSync,
  options: { readonly catalogName: string; readonly namespace: string },
): ReadonlyMap<string, TableSchema> {
  if (!hasTable(db, "svc_table_schemas")) return new Map();
  const rows = db.prepare(
    "SELECT table_name AS name, schema FROM svc_table_schemas JOIN iceberg_tables " +
      "USING (table_namespace, table_name) WHERE catalog_name = ? AND table_namespace = ?",
  ).all(options.catalogName, options.namespace);
  return new Map(
    rows.map(({ name, schema }) => [String(name), parseTableSchema(String(name), String(schema))]),
  );
}

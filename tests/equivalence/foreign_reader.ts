/**
 * Reads a table of a warehouse with `icebird` and `hyparquet` alone. The pointer comes from the
 * catalog's JDBC table by plain SQL, everything else from the files it leads to. None of the
 * service's code is used.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { icebergMetadata, icebergRead } from "icebird";

export type ForeignRow = Readonly<Record<string, unknown>>;
export type ForeignMetadata = Awaited<ReturnType<typeof icebergMetadata>>;

export interface ForeignTable {
  readonly metadata: ForeignMetadata;
  readonly rows: readonly ForeignRow[];
}

/** All rows of `namespace.name`; a null cell is `null`, `timestamp` a Date (milliseconds). */
export async function readForeign(
  catalogPath: string,
  table: { readonly namespace: string; readonly name: string },
): Promise<ForeignTable> {
  const db = new DatabaseSync(catalogPath, { readOnly: true });
  const pointer = db.prepare(
    "SELECT metadata_location FROM iceberg_tables " +
      "WHERE catalog_name = 'svc' AND table_namespace = ? AND table_name = ?",
  ).get(table.namespace, table.name)?.metadata_location;
  db.close();
  assert.ok(typeof pointer === "string", "the catalog has a pointer");
  const [tableUrl, metadataFileName] = pointer.split("/metadata/");
  assert.ok(tableUrl !== undefined && metadataFileName !== undefined, pointer);
  const metadata = await icebergMetadata({ tableUrl, metadataFileName });
  const rows = await icebergRead({ tableUrl, metadata });
  return { metadata, rows: rows.map((row) => ({ ...row, attributes: row.attributes ?? null })) };
}

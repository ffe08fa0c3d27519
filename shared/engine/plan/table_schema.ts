/** The columns of a table as a statement finds it. */

import { BUILT_IN_TABLES } from "../../schema/built_in_tables.ts";
import { indexSchema } from "../../schema/index_schema.ts";
import { seenColumns } from "../../schema/promoted.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { FrozenTable } from "../shards/shard.ts";

/**
 * Returns the columns that data files of a table have. Before its first commit these are a built-in
 * table's own, or those of its rows in the WAL as far as `wal` is known. A configured field is a
 * column before a row has filled it. Undefined: there is no such table.
 */
export function storedSchema(
  name: string,
  { snapshot, state, wal }: Pick<FrozenTable, "snapshot" | "state"> & Partial<FrozenTable>,
): TableSchema | undefined {
  const mapping = state?.index?.config.doc_mapping;
  const schema = snapshot.table?.schema ?? BUILT_IN_TABLES.get(name) ??
    (wal?.columns === undefined ? undefined : { columns: wal.columns, tags: [] });
  return mapping === undefined ? schema : indexSchema(mapping, schema);
}

/** The columns of them that a statement can name. */
export function seenSchema(schema: TableSchema): TableSchema {
  const columns = seenColumns(schema.columns);
  return columns === schema.columns ? schema : { ...schema, columns };
}

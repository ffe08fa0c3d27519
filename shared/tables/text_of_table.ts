/**
 * Which columns of a table have their words indexed, whatever its index says of rows that are
 * flushed.
 */

import type { CatalogReader } from "../catalog/catalog.ts";
import { textColumnsOf } from "../derived/text_columns.ts";
import type { TextColumn } from "../derived/types.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";

/** For rewrites of files. Errors: the catalog's. */
export async function textOfTable(
  { catalog }: { readonly catalog: Pick<CatalogReader, "indexState"> },
  { ident, schema }: Pick<LoadedTable, "ident" | "schema">,
): Promise<TextColumn[]> {
  const { index } = await catalog.indexState(ident);
  return textColumnsOf(schema, index?.config.doc_mapping);
}

/** Rows that other servers sent, as SQL. */

import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import type { ReceivedTable } from "../shards/shard.ts";

/** Returns the name that a column has in the files. */
export function receivedColumn(at: number): string {
  return `c${at}`;
}

/**
 * Returns a SELECT of the table's columns over `files`, with the types that they had where the rows
 * were made.
 */
export function receivedSql(
  { columns }: ReceivedTable,
  files: readonly { readonly path: string }[],
): string {
  const named = columns.map(({ name, type }, at) =>
    `${files.length === 0 ? "NULL" : receivedColumn(at)}::${type} AS ${quoteName(name)}`
  );
  const list = `SELECT ${named.join(", ")}`;
  if (files.length === 0) return `${list} WHERE false`;
  return `${list} FROM read_parquet([${files.map(({ path }) => quoteText(path)).join(", ")}])`;
}

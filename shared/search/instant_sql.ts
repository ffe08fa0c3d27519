/** An instant in SQL. */

import { quoteText } from "../engine/duckdb/statement_text.ts";

/** Returns the instant that `text` is, RFC 3339, as a literal of DuckDB. */
export function instantSql(text: string): string {
  return `CAST(${quoteText(text)} AS TIMESTAMPTZ)`;
}

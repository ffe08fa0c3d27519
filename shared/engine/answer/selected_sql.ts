/** The statement around the caller's that gives its rows in a form of ours. */

import type { DescribedColumn, Relation } from "../duckdb/driver.ts";
import { type StatementText, statementText } from "../duckdb/statement_text.ts";

/** Rows of the caller's statement, of which something is selected. */
export interface AskedRows {
  /** The tables that the caller's statement names. */
  readonly relations: readonly Relation[];
  /** The columns of its rows. */
  readonly columns: readonly DescribedColumn[];
  /** Undefined: all rows. */
  readonly rowsMax: number | undefined;
}

/** A statement with a column for each of `items`: SQL over `r.c0`, `r.c1` and so on of `sql`. */
export function selectedSql(
  sql: string,
  { relations, columns, rowsMax }: AskedRows,
  items: readonly string[],
): StatementText {
  const names = columns.map((_, i) => `c${i}`);
  const limit = rowsMax === undefined ? "" : ` LIMIT ${rowsMax}`;
  return statementText(sql, {
    relations,
    wrap: (from) => `SELECT ${items.join(", ")} FROM ${from} AS r(${names.join(", ")})${limit}`,
  });
}

/** The statement around the caller's whose rows go out as Arrow. */

import type { StatementText } from "../duckdb/statement_text.ts";
import { arrowValueSql, flatValueSql } from "./arrow_type.ts";
import { type AskedRows, selectedSql } from "./selected_sql.ts";

/**
 * A statement with a column for each of `sql`, as Arrow has its type. `isFlat`: nested values but
 * lists of single ones are JSON texts.
 */
export function arrowSql(
  sql: string,
  asked: AskedRows & { readonly isFlat: boolean },
): StatementText {
  const valueSql = asked.isFlat ? flatValueSql : arrowValueSql;
  return selectedSql(sql, asked, asked.columns.map(({ type }, i) => valueSql(`r.c${i}`, type)));
}

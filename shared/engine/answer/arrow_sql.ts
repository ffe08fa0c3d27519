/** The statement around the caller's whose rows go out as Arrow. */

import type { DescribedColumn, Relation } from "../duckdb/driver.ts";
import { type StatementText, statementText } from "../duckdb/statement_text.ts";
import { arrowValueSql, flatValueSql } from "./arrow_type.ts";

/** A statement with a column for each of `sql`, as Arrow has its type. */
export function arrowSql(
  sql: string,
  { relations, columns, rowsMax, isFlat }: {
    readonly relations: readonly Relation[];
    readonly columns: readonly DescribedColumn[];
    readonly rowsMax: number | undefined;
    /** Whether nested values but lists of single ones are JSON texts. */
    readonly isFlat: boolean;
  },
): StatementText {
  const names = columns.map((_, i) => `c${i}`);
  const valueSql = isFlat ? flatValueSql : arrowValueSql;
  const values = columns.map(({ type }, i) => valueSql(`r.c${i}`, type));
  const limit = rowsMax === undefined ? "" : ` LIMIT ${rowsMax}`;
  return statementText(sql, {
    relations,
    wrap: (from) => `SELECT ${values.join(", ")} FROM ${from} AS r(${names.join(", ")})${limit}`,
  });
}

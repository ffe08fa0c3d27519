/**
 * The statement around the caller's whose rows come packed (`PackedShape`). DuckDB, on all of its
 * threads, lays the texts of a row out where they are to stand, so nobody copies them one by one.
 *
 * The first column is that row. The others are the values that are no texts, and the lengths of
 * those that are; NULL is NULL in them.
 */

import type { ArrowType } from "../arrow_fields.ts";
import type { DescribedColumn } from "../duckdb/driver.ts";
import { quoteText, type StatementText } from "../duckdb/statement_text.ts";
import type { PackedShape } from "../types.ts";
import { flatTypeOf, flatValueSql } from "./arrow_type.ts";
import { type AskedRows, selectedSql } from "./selected_sql.ts";

/** A statement with a column for the row, and one for each of `sql`. */
export function packedSql(
  sql: string,
  asked: AskedRows & { readonly shape: PackedShape },
): StatementText {
  const { columns, shape } = asked;
  const values = columns.map(({ type }, i) => flatValueSql(`r.c${i}`, type));
  const items = values.map((value, i) =>
    shape.widths[i] === undefined ? `strlen(${value}::VARCHAR)::INTEGER` : value
  );
  return selectedSql(sql, asked, [rowSql(values, shape), ...items]);
}

/** Types of the columns of `packedSql`. */
export function packedTypes(
  columns: readonly DescribedColumn[],
  { widths }: PackedShape,
): ArrowType[] {
  const types = columns.map(({ type }, i): ArrowType =>
    widths[i] === undefined ? { kind: "int", bytes: 4, isSigned: true } : flatTypeOf(type)
  );
  return [{ kind: "utf8" }, ...types];
}

/** Gaps are blanks. `concat` passes over NULL. */
function rowSql(values: readonly string[], { headBytes, lengthBytes, widths }: PackedShape) {
  const gap = quoteText(" ".repeat(lengthBytes));
  const parts = values.map((value, i) => {
    const width = widths[i];
    if (width === undefined) return `${gap}, ${value}::VARCHAR`;
    return `${gap}, CASE WHEN ${value} IS NOT NULL THEN ${quoteText(" ".repeat(width))} END`;
  });
  return `concat(${[quoteText(" ".repeat(headBytes)), ...parts].join(", ")})`;
}

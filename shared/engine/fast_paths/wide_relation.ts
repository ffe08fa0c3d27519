/**
 * Counts of a column with many values (`wide_column.ts`) as SQL: weighted rows for a weighted
 * statement.
 */

import { ROWS_COLUMN, VALUE_COLUMN } from "../../derived/summary/value_counts.ts";
import type { Column } from "../../schema/schema.ts";
import { SQL_TYPES } from "../bind/relation.ts";
import { quoteName } from "../duckdb/statement_text.ts";
import { type AnswerFile, scanOf } from "./answer_files.ts";
import { WEIGHT } from "./weighted_aggregates.ts";
import type { WideCounts, WideSum } from "./wide_column.ts";

const [VALUE, ROWS] = [quoteName(VALUE_COLUMN), quoteName(ROWS_COLUMN)];
const OTHERS = quoteName("#others");

/**
 * A SELECT of weighted rows: those of `counts`, and those of `others`, each a SELECT with these two
 * columns.
 *
 * With `top` only groups that are among so many most frequent ones are wanted, ties included. Then
 * values are left out whose count in the sum is below the sum's own `top`th, unless others have the
 * value, too. So many groups reach that count, and none that is left out does.
 */
export function wideRelationSql(
  column: Column,
  { sum, parts }: Pick<WideCounts, "sum" | "parts">,
  { others, top }: { readonly others: readonly string[]; readonly top: number | undefined },
): string {
  const rest = [...(parts.length === 0 ? [] : [countsSql(column, parts)]), ...others];
  if (sum === undefined) return (rest.length === 0 ? [noneSql(column)] : rest).join(" UNION ALL ");
  const least = top === undefined ? undefined : leastCount(sum, top);
  const all = countsSql(column, [sum.file]);
  if (least === undefined) return [all, ...rest].join(" UNION ALL ");
  const frequent = `${all} WHERE ${ROWS} >= ${least}`;
  if (rest.length === 0) return frequent;
  const name = quoteName(column.name);
  return `WITH ${OTHERS} AS MATERIALIZED (${rest.join(" UNION ALL ")}) ` +
    `${frequent} UNION ALL SELECT * FROM (${all} WHERE ${ROWS} < ${least}) ` +
    `WHERE ${name} IN (SELECT ${name} FROM ${OTHERS}) ` +
    `OR (${name} IS NULL AND EXISTS (SELECT 1 FROM ${OTHERS} WHERE ${name} IS NULL)) ` +
    `UNION ALL SELECT * FROM ${OTHERS}`;
}

/** The count of the `top`th value; undefined where it is not known. */
function leastCount({ file, top: counts }: WideSum, top: number): number | undefined {
  return top > file.entries ? undefined : counts[top - 1];
}

/** The SELECT where counts are yet to be brought together, and nothing runs. */
function noneSql({ name, type }: Column): string {
  return `SELECT NULL::${SQL_TYPES[type]} AS ${quoteName(name)}, ` +
    `NULL::BIGINT AS ${quoteName(WEIGHT)} WHERE false`;
}

function countsSql({ name, type }: Column, files: readonly AnswerFile[]): string {
  return `SELECT ${VALUE}::${SQL_TYPES[type]} AS ${quoteName(name)}, ` +
    `${ROWS}::BIGINT AS ${quoteName(WEIGHT)} ` +
    `FROM ${scanOf(files)}`;
}

/** What the names of a statement's tables stand for, as SQL. */

import { present } from "../../base/assert.ts";
import type { Relation } from "../duckdb/driver.ts";
import { type BindText, quoteText } from "../duckdb/statement_text.ts";
import type { ChosenPath } from "../fast_paths/shorten_statement.ts";
import type { Plan, TablePlan } from "../plan/plan.ts";
import { emptySql, relationSql } from "./relation.ts";
import type { TableName } from "./table_names.ts";

/** A statement whose tables stand for rows, or for what a fast path makes of counts. */
export interface NamingStatement {
  readonly names: readonly TableName[];
  readonly path: ChosenPath;
}

/**
 * The rows of a plan: the statement's own, or what became of it when its files were brought. `bind`
 * writes texts; default: as literals.
 */
export function planRelations(
  { names, path }: NamingStatement,
  plan: Plan,
  bind: BindText = quoteText,
): readonly Relation[] {
  return relationsOf(
    names,
    plan.tables,
    (table) => path.kind === "scan" ? relationSql(table) : path.fast.relation(table, bind),
  );
}

/** Tables without a row, which are enough to know the columns of an answer. */
export function emptyRelations(
  names: readonly TableName[],
  tables: readonly TablePlan[],
): readonly Relation[] {
  return relationsOf(names, tables, ({ schema }) => emptySql(schema.columns));
}

/** What each name stands for, given the SELECT that stands for a table. */
function relationsOf(
  names: readonly TableName[],
  tables: readonly TablePlan[],
  select: (table: TablePlan) => string,
): Relation[] {
  return names.map(({ name, table }) => {
    const plan = tables.find((candidate) => candidate.name === table);
    return { name, select: select(present(plan)) };
  });
}

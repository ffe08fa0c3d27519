/** Writes as SQL what the names of a statement's tables stand for. */

import { present } from "../../base/assert.ts";
import type { Relation } from "../duckdb/driver.ts";
import { type BindText, quoteText } from "../duckdb/statement_text.ts";
import type { ChosenPath } from "../fast_paths/shorten_statement.ts";
import type { Plan, TablePlan } from "../plan/plan.ts";
import { receivedSql } from "./received_sql.ts";
import { emptySql, relationSql } from "./relation.ts";
import type { MadeRelation } from "../pg_catalog/relations.ts";
import type { TableName } from "./table_names.ts";

/** A statement whose tables stand for rows, or for what a fast path makes of counts. */
export interface NamingStatement {
  readonly names: readonly TableName[];
  /** Relations of PostgreSQL's catalog, as they are for this statement. */
  readonly made: readonly MadeRelation[];
  readonly path: ChosenPath;
}

/**
 * Returns a relation for each name, over the rows of `plan`: the statement's own plan, or what
 * became of it when its files were brought. `bind` writes texts; by default they are literals.
 */
export function planRelations(
  { names, path, made }: NamingStatement,
  plan: Plan,
  bind: BindText = quoteText,
): readonly Relation[] {
  const stored = relationsOf(
    names,
    plan.tables,
    (table) => path.kind === "scan" ? relationSql(table, bind) : path.fast.relation(table, bind),
  );
  return [...stored, ...made.map(({ name, select }) => ({ name, select }))];
}

/**
 * Returns a relation without a row for each name, which is enough to know the columns of an answer.
 */
export function emptyRelations(
  { names, made }: Pick<NamingStatement, "names" | "made">,
  tables: readonly TablePlan[],
): readonly Relation[] {
  const stored = relationsOf(
    names,
    tables,
    ({ schema, received }) =>
      received === undefined ? emptySql(schema.columns) : receivedSql(received, []),
  );
  return [...stored, ...made.map(({ name, empty }) => ({ name, select: empty }))];
}

/** Returns a relation for each name, given the SELECT that stands for a table. */
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

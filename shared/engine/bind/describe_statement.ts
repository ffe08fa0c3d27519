/**
 * The phase in which DuckDB binds a statement, over empty tables of the same columns. It names the
 * columns of the answer, or tells what is wrong with the statement.
 */

import type { TimeBounds } from "../bounds/time_bounds.ts";
import type { DescribedColumn, EngineConnection } from "../duckdb/driver.ts";
import type { Exchanged } from "../functions/exchange_statement.ts";
import type { StatementCache } from "../statement/statement_cache.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";
import type { Deadline } from "../turns/deadline.ts";
import { emptyRelations } from "./statement_relations.ts";

/** An exchanged statement with the columns of its answer: DuckDB's names and types, in order. */
export interface Described extends Exchanged {
  readonly columns: readonly DescribedColumn[];
}

/**
 * Lets DuckDB bind the statement, or takes its columns from the cache of statements. Errors:
 * DuckDB's as `EngineFault`, and the deadline's.
 */
export async function describeStatement(
  exchanged: Exchanged,
  { connection, deps, deadline }: {
    readonly connection: EngineConnection;
    readonly deps: { readonly statements: StatementCache };
    readonly deadline: Deadline;
  },
): Promise<Described> {
  const { statement, asked, bounds, names } = exchanged;
  const columns = await deps.statements.columns(connection, {
    sql: asked.text,
    shape: columnsShape(statement.document, bounds),
    relations: emptyRelations(names, asked.tables),
  });
  deadline.check();
  return { ...exchanged, columns };
}

/**
 * Returns all that a statement's columns can depend on, as JSON: its tree without the places in the
 * text and without the instants that bound its time.
 */
function columnsShape(document: TreeNode, { micros }: TimeBounds): string {
  return JSON.stringify(document, (member, value) => {
    if (member === "query_location") return undefined;
    return micros.get(value) === undefined ? value : null;
  });
}

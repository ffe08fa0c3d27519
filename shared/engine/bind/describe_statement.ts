/**
 * The phase in which DuckDB binds a statement, over empty tables of the same columns. It names the
 * columns of the answer, or tells what is wrong with the statement.
 */

import { type DescribedColumn, type EngineConnection, EngineFault } from "../duckdb/driver.ts";
import type { Exchanged } from "../functions/exchange_statement.ts";
import type { StatementCache } from "../statement/statement_cache.ts";
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
  const { asked, shape, promotedShape } = exchanged;
  const columns = await deps.statements.columns(connection, {
    sql: asked.text,
    shape,
    relations: emptyRelations(exchanged, asked.tables),
  });
  if (promotedShape !== undefined && exchanged.path.kind === "scan") {
    // What was rewritten must bind to the same types; else the statement is asked as it was sent.
    const { text, tables } = exchanged;
    const own = await deps.statements.columns(connection, {
      sql: await text(connection),
      shape: promotedShape,
      relations: emptyRelations(exchanged, tables),
    });
    if (typesOf(own) !== typesOf(columns)) {
      throw new EngineFault("statement", "columns of attributes changed the types of the answer");
    }
  }
  deadline.check();
  return { ...exchanged, columns };
}

function typesOf(columns: readonly DescribedColumn[]): string {
  return columns.map(({ type }) => type.text).join();
}

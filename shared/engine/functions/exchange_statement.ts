/**
 * The phase that exchanges calls which DuckDB must not see as they were asked, and writes the text
 * that runs. It comes after every phase that reads the statement as it was asked. Changes the tree.
 */

import { instantColumns } from "../bind/instant_columns.ts";
import { type NamedTable, stemmedReferences } from "../bind/stemmed_references.ts";
import type { Priced } from "../cost/price_statement.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import type { FastPath } from "../fast_paths/fast_path.ts";
import type { TableReference } from "../gate/gate.ts";
import type { TablePlan } from "../plan/plan.ts";
import { type Statement, textAsItIs, textOfTree } from "../statement/parse.ts";
import type { CachedConnection, StatementCache } from "../statement/statement_cache.ts";
import { cloneTree, nodeAt, type TreeNode, withRoot } from "../statement/syntax_tree.ts";
import { parsedAgain } from "../statement/written_anew.ts";
import type { Deadline } from "../turns/deadline.ts";
import { isChangedByName, renameFunctions } from "./dialect.ts";
import { exchangeCalls, keepNames } from "./exchange_calls.ts";
import { exchangeSearches, holdsSearches } from "./search_calls.ts";
import { exchangeTimeCalls, givesInstant } from "./utc_calls.ts";

/** Writes the text of what runs. The connection is asked for the text of its tree. */
export type RunningText = (connection: EngineConnection) => Promise<string>;

export interface Exchanged extends Priced {
  /** Gives the text that runs. Errors: DuckDB's. */
  readonly text: RunningText;
  /** What is bound to know the columns, and quoted in messages. */
  readonly asked: AskedText;
}

/** The text that is nearest to what was sent and that DuckDB can bind. */
export interface AskedText {
  readonly text: string;
  /** The tables whose columns it names. */
  readonly tables: readonly TablePlan[];
  /** The statement with the tree of `text`. */
  readonly statement: Statement;
}

interface ExchangeContext {
  readonly cached: CachedConnection;
  readonly deps: { readonly statements: StatementCache };
  readonly deadline: Deadline;
}

/** Errors: those of `exchangeCalls`, the deadline's. */
export async function exchangeStatement(
  priced: Priced,
  { cached, deps, deadline }: ExchangeContext,
): Promise<Exchanged> {
  const { statement, path, planned, tables, isBounded, isBindable } = priced;
  const { isGuarded, isChanged } = await exchangeOwn(priced, cached);
  const own = isChanged ? await textOfTree(cached, statement.document) : statement.sql;
  const text = path.kind === "scan"
    ? () => Promise.resolve(own)
    : await textOfPath(path.fast, priced, { cached, statements: deps.statements });
  deadline.check();
  // Columns are called, and errors told, as it was sent where that can be bound. Binding evaluates
  // constants.
  const guarded = isGuarded || isBounded ? await guardedText(cached, statement) : undefined;
  const asked = {
    ...isBindable
      ? { text: guarded?.text ?? statement.sql, tables: planned }
      : { text: own, tables },
    statement: { ...statement, ...(guarded === undefined ? {} : { document: guarded.document }) },
  };
  return { ...priced, text, asked };
}

/** Exchanges calls of the statement itself. */
async function exchangeOwn(
  { statement, references, planned, tables, ...is }: Priced,
  cached: CachedConnection,
): Promise<{ readonly isGuarded: boolean; readonly isChanged: boolean }> {
  const { root, document } = statement;
  const textOf = (select: TreeNode) => textAsItIs(cached, withRoot(document, select));
  const { exchanged, guarded } = await exchangeCalls(root, {
    textOf,
    stemmed: stemmedReferences(root, namedTables(references, planned)),
  });
  const isSearching = holdsSearches(root);
  if (isSearching) {
    await keepNames(root, { textOf, wants: holdsSearches });
    exchangeSearches(root);
  }
  const isTiming = await exchangeTimeCalls(root, {
    instants: () => instantColumns(root, { references, tables, givesInstant }),
    textOf,
    isNamedApart: is.isBindable,
  });
  const isChanged = !is.isBindable || !statement.embeddable || is.isBounded ||
    is.defaultOrderApplied || is.isPromoted || exchanged || isSearching || isTiming;
  return { isGuarded: guarded, isChanged };
}

/**
 * The text of a fast path's statement, with its calls exchanged. Where the answer is there already,
 * hardly anybody asks for the text, so it is written when somebody does.
 */
async function textOfPath(
  { root, counted }: Pick<FastPath, "root" | "counted">,
  { statement: { document }, references, tables, isBindable }: Priced,
  { cached, statements }: Pick<ExchangeContext, "cached"> & ExchangeContext["deps"],
): Promise<RunningText> {
  const write = async (own: TreeNode, over: CachedConnection) => {
    const textOf = (select: TreeNode) => textAsItIs(over, withRoot(document, select));
    await exchangeCalls(own, { textOf, stemmed: new Set() });
    // A fast path reads one table, and the tree may be a copy.
    const node = nodeAt(own, "from_table") ?? {};
    const read = references.map((reference) => ({ ...reference, node }));
    await exchangeTimeCalls(own, {
      instants: () => instantColumns(own, { references: read, tables, givesInstant }),
      ...{ textOf, isNamedApart: isBindable },
    });
    return await textOfTree(over, withRoot(document, own));
  };
  if (counted !== undefined) {
    return (connection) => write(cloneTree(root), statements.over(connection));
  }
  const text = await write(root, cached);
  return () => Promise.resolve(text);
}

/** The statement with nothing changed but calls that DuckDB must not see, as tree and text. */
async function guardedText(
  cached: CachedConnection,
  statement: Statement,
): Promise<Pick<Statement, "document"> & { readonly text: string }> {
  const { document, root } = await parsedAgain(statement, cached);
  const textOf = (select: TreeNode) => textAsItIs(cached, withRoot(document, select));
  await keepNames(root, { textOf, wants: isChangedByName });
  renameFunctions(root);
  await exchangeCalls(root, { textOf, stemmed: new Set() });
  return { document, text: await textOfTree(cached, document) };
}

function namedTables(
  references: readonly TableReference[],
  tables: readonly TablePlan[],
): NamedTable[] {
  return references.flatMap(({ node, table }) => {
    const plan = tables.find(({ name }) => name === table);
    if (plan === undefined) return [];
    const columns = plan.schema.columns.map(({ name }) => name);
    return [{ node, columns, stemmed: plan.stemmed }];
  });
}

/**
 * From a request to a statement that can run: one phase after the other, each a function of the
 * room that owns it, from one value to the next. README.md, "Life of a statement", tells of each.
 *
 * The tree of the statement is one object: the phases gate, rewrite and exchange change it.
 */

import { describeStatement } from "./bind/describe_statement.ts";
import { readsLeftOut } from "./bind/relation.ts";
import { boundStatement } from "./bounds/bound_statement.ts";
import { priceStatement } from "./cost/price_statement.ts";
import { type EngineConnection, EngineFault } from "./duckdb/driver.ts";
import type { EdgeTimes } from "./fast_paths/edge_times.ts";
import { shortenStatement } from "./fast_paths/shorten_statement.ts";
import type { TableAnswers } from "./fast_paths/table_answers.ts";
import { exchangeStatement } from "./functions/exchange_statement.ts";
import { gateStatement } from "./gate/gate_statement.ts";
import type { FanIn } from "./order/ordered_scan.ts";
import { orderStatement } from "./order/order_statement.ts";
import { catalogStatement } from "./pg_catalog/catalog_statement.ts";
import { type PlanDeps, planStatement } from "./plan/plan_statement.ts";
import { rewriteStatement, type Rewritten } from "./plan/rewrite_statement.ts";
import { type Prepared, preparedOf } from "./prepared.ts";
import { pruneStatement, type PruneStatementDeps } from "./pruning/prune_statement.ts";
import { spareStatement } from "./spared/spare_statement.ts";
import { inCallersText } from "./statement/error_place.ts";
import { bindParameters } from "./statement/bind_parameters.ts";
import { parseSent } from "./statement/parse_sent.ts";
import { parse, type Statement } from "./statement/parse.ts";
import { describeSql, type Shown, shownOf, summarizeSql, tablesSql } from "./statement/shown.ts";
import type { CachedConnection } from "./statement/statement_cache.ts";
import { withRoot } from "./statement/syntax_tree.ts";
import { parsedAgain, writtenAnew } from "./statement/written_anew.ts";
import { type FirstSubqueries, firstSubqueries } from "./subqueries/first_subqueries.ts";
import type { Deadline } from "./turns/deadline.ts";
import type { QueryRequest } from "./types.ts";

export interface PrepareDeps extends PlanDeps, PruneStatementDeps {
  readonly fanIn: FanIn;
  readonly answers: TableAnswers;
  readonly edgeTimes: EdgeTimes;
}

/** What every phase may take of; each says what it does. */
export interface PrepareContext {
  readonly connection: EngineConnection;
  /** `connection` behind the cache of statements. */
  readonly cached: CachedConnection;
  readonly request: QueryRequest;
  readonly deps: PrepareDeps;
  readonly deadline: Deadline;
  /** Whether attributes may be read from promoted columns. */
  readonly usesPromoted: boolean;
  /** Whether a scan may be spared what it asks (`spared/`); default true. */
  readonly spares?: boolean;
  /** Whether rows of the WAL may be counted in place of being read; default true. */
  readonly mayCount?: boolean;
  /** Whether rows of the WAL may lack columns that the statement does not need; default true. */
  readonly mayLeaveOut?: boolean;
}

/** Errors: as `Engine.prepare` says; those of DuckDB itself still as `EngineFault`. */
export async function prepareStatement(
  connection: EngineConnection,
  request: QueryRequest,
  { deps, deadline, usesPromoted = true }: {
    readonly deps: PrepareDeps;
    readonly deadline: Deadline;
    readonly usesPromoted?: boolean;
  },
): Promise<Prepared> {
  const startMs = deps.nowMs();
  const cached = deps.statements.over(connection);
  const context: PrepareContext = { connection, cached, request, deps, deadline, usesPromoted };
  const parsed = await parseSent(cached, request.sql);
  const bound = await bindParameters(parsed, context);
  const shown = shownOf(bound.root);
  return shown === undefined
    ? await preparePhases(bound, context, startMs)
    : await prepareShown(bound, shown, { context, startMs });
}

/** Takes a statement from one phase to the next. */
async function preparePhases(
  sent: Statement,
  context: PrepareContext,
  startMs: number,
): Promise<Prepared> {
  const first = firstSubqueries(sent);
  const statement = await catalogStatement(sent, context);
  const gated = gateStatement(statement, context);
  const bounded = await boundStatement(gated, context);
  const planned = await planStatement(bounded, {
    ...context,
    // What its subqueries read is not known before they run.
    mayLeaveOut: first === undefined && context.usesPromoted && context.mayLeaveOut !== false,
  });
  using _leases = planned.leases;
  const rewritten = await rewriteStatement(planned, context);
  return await prepareRewritten(rewritten, { sent, context, startMs, first });
}

/**
 * The phases from the choice of what answers on, of a statement that began as `sent`. They take its
 * leases over. Errors: as `prepareStatement`.
 */
export async function prepareRewritten(
  rewritten: Rewritten,
  { sent, context, startMs, first }: {
    readonly sent: Statement;
    readonly context: PrepareContext;
    readonly startMs: number;
    /** Its subqueries, where they may be run before it. */
    readonly first?: FirstSubqueries | undefined;
  },
): Promise<Prepared> {
  const { connection, deps } = context;
  using leases = rewritten.leases;
  let asked = rewritten.statement;
  let isSpared = false;
  try {
    const shortened = await shortenStatement(rewritten, context);
    if (shortened.lacksRows) {
      leases.dispose();
      return await prepareAgain(sent, { ...context, mayCount: false }, startMs);
    }
    const pruned = await pruneStatement(shortened, context);
    const ordered = await orderStatement(pruned, context);
    const spared = await spareStatement(ordered, context);
    isSpared = spared !== ordered;
    const priced = priceStatement(spared);
    const exchanged = await exchangeStatement(priced, context);
    // Once is enough, and whoever brings its tables along (`frozen`) gets the same ones again.
    if (context.mayLeaveOut !== false && exchanged.tables.some(readsLeftOut)) {
      leases.dispose();
      return await prepareAgain(sent, { ...context, mayLeaveOut: false }, startMs);
    }
    asked = exchanged.asked.statement;
    const described = await describeStatement(exchanged, context);
    return preparedOf(described, { tookMs: deps.nowMs() - startMs, first });
  } catch (error) {
    leases.dispose();
    // What is wrong with it is told of the columns that its caller knows.
    if (error instanceof EngineFault && error.kind === "statement") {
      if (isSpared) return await prepareAgain(sent, { ...context, spares: false }, startMs);
      if (rewritten.isPromoted) {
        return await prepareAgain(sent, { ...context, usesPromoted: false }, startMs);
      }
    }
    throw await inCallersText(error, asked, connection);
  }
}

/** The phases change the tree, so it is parsed anew. */
async function prepareAgain(
  sent: Statement,
  context: PrepareContext,
  startMs: number,
): Promise<Prepared> {
  return await preparePhases(await parsedAgain(sent, context.cached), context, startMs);
}

/**
 * Prepares the SELECT that answers DESCRIBE, SUMMARIZE or SHOW TABLES. The first two are of a query
 * that is prepared for its columns alone.
 */
async function prepareShown(
  statement: Statement,
  shown: Shown,
  { context, startMs }: { readonly context: PrepareContext; readonly startMs: number },
): Promise<Prepared> {
  const { cached } = context;
  const answer = async (sql: string) => {
    const own = await parse(cached.serialize, sql);
    const { explain, analyze } = statement;
    return await preparePhases({ ...own, explain, analyze }, context, startMs);
  };
  if (shown.kind === "tables") return await answer(tablesSql(shown));
  const document = withRoot(statement.document, shown.query);
  const query = await writtenAnew(statement, document, cached);
  const looked = await preparePhases(query, {
    ...context,
    request: { ...context.request, planOnly: true, defaultOrder: false },
  }, startMs);
  using _leases = looked.leases;
  const columns = looked.columns.map(({ name, type }) => ({ name, type: type.text }));
  return await answer(
    shown.kind === "describe" ? describeSql(columns) : summarizeSql(query.sql, columns),
  );
}

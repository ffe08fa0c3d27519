/**
 * Plans a statement that many servers are to share: what each of them runs, the files that are
 * left to cut, and the tables at one moment. `shared/engine/README.md`, "A statement on many
 * servers".
 */

import { present } from "../../base/assert.ts";
import { boundStatement } from "../bounds/bound_statement.ts";
import { priceOf } from "../cost/price_statement.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { shortenStatement } from "../fast_paths/shorten_statement.ts";
import { gateStatement } from "../gate/gate_statement.ts";
import { applyDefaultOrder, wantsDefaultOrder } from "../order/default_order.ts";
import { filePart, partBytes, type TablePlan, wholePlan } from "../plan/plan.ts";
import { type Planned, planStatement } from "../plan/plan_statement.ts";
import { projectedAnew } from "../plan/projection.ts";
import { rewriteStatement } from "../plan/rewrite_statement.ts";
import { catalogStatement } from "../pg_catalog/catalog_statement.ts";
import { encodePin } from "../plan/snapshot_pin.ts";
import type { PrepareDeps, prepareRewritten } from "../prepare.ts";
import type { Prepared } from "../prepared.ts";
import { plannedTable } from "../plan/planned_table.ts";
import { regularGroups } from "../pruning/file_selection.ts";
import { pruneTable } from "../pruning/prune_table.ts";
import { splitStatement } from "../spread/split_statement.ts";
import type { NotSplit, SplitStatement } from "../spread/types.ts";
import { bindParameters } from "../statement/bind_parameters.ts";
import { inCallersText } from "../statement/error_place.ts";
import { parseSent } from "../statement/parse_sent.ts";
import { type Statement, textAsItIs, textOfTree } from "../statement/parse.ts";
import { shownOf } from "../statement/shown.ts";
import { copiedDocument, withRoot } from "../statement/syntax_tree.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { QueryRequest } from "../types.ts";
import { freezeMoment } from "./freeze_moment.ts";
import type { Spread, SpreadFile } from "./spread.ts";

interface SpreadContext {
  readonly request: QueryRequest;
  readonly deps: PrepareDeps;
  readonly deadline: Deadline;
  /** Goes on with a statement that summaries answer. */
  readonly prepare: typeof prepareRewritten;
  /** Unix milliseconds. */
  readonly unixMs: number;
}

/** A statement that is not shared, and is prepared already. */
interface AnsweredHere extends NotSplit {
  readonly prepared: Prepared;
}

/** Errors: as `Engine.spread` says; those of DuckDB itself still as `EngineFault`. */
export async function spreadStatement(
  connection: EngineConnection,
  context: SpreadContext,
): Promise<Spread | NotSplit | AnsweredHere> {
  const { request, deps, deadline, unixMs } = context;
  const startMs = deps.nowMs();
  const cached = deps.statements.over(connection);
  const parsed = await parseSent(cached, request.sql);
  if (parsed.explain || parsed.analyze) return { reason: "EXPLAIN tells what one server does" };
  const statement = await bindParameters(parsed, { request, cached });
  const told = await toldOfTables(statement, { cached, request });
  if (told !== undefined) return told;
  const own = copyOf(statement);
  const gated = gateStatement(statement, context);
  if (gated.references.some(({ hot }) => hot !== undefined)) {
    return { reason: "it asks hot caches, which are over the WAL" };
  }
  const bounded = await boundStatement(gated, { cached });
  const planned = await planStatement(bounded, context);
  using leases = planned.leases;
  try {
    const planOnly = { ...request, planOnly: true };
    const alone = { connection, cached, request: planOnly, deps, deadline, usesPromoted: true };
    const rewritten = await rewriteStatement(planned, alone);
    const { path, lacksRows } = await shortenStatement(rewritten, alone);
    if (lacksRows) return { reason: "it counts rows of the WAL" };
    if (path.kind === "summaries") {
      const own = { sent: statement, context: { ...alone, request }, startMs };
      return { reason: "summaries answer it", prepared: await context.prepare(rewritten, own) };
    }
    const defaultOrderApplied = wantsDefaultOrder(own.root, request) &&
      applyDefaultOrder(own.root, { table: fromTable(planned), rowsMax: request.rowsMax });
    const tables = projectedAnew(planned.planned, own.root);
    const left = await Promise.all(tables.map((table) => filesLeft(table, planned, context)));
    const word = await freezeMoment(own.root, {
      nowMs: unixMs,
      columns: new Set(tables.flatMap(columnNames)),
      textOf: (select) => textAsItIs(cached, withRoot(own.document, select)),
    });
    if (word !== undefined) return { reason: `${word} differs from server to server` };
    const split = await splitStatement(own, {
      tables: left.map(splitTable),
      textOf: (document) => textOfTree(cached, document),
      describe: (sql, relations) => connection.describe(sql, relations),
      averages: deps.answers.averages,
      rowsMax: request.rowsMax + 1,
    });
    if ("reason" in split) return split;
    const refusal = refusalOf(split, left);
    if (refusal !== undefined) return refusal;
    const cut = present(left.find(({ name }) => name === split.table), "the table that is cut");
    const held = leases.move();
    return {
      split,
      pin: encodePin(tables),
      frozen: planned.frozen,
      hasWalRows: cut.delta.length > 0,
      files: spreadFiles(cut),
      cost: priceOf(statement.root, { names: gated.names, tables: left }),
      tables: left.map(plannedTable),
      defaultOrderApplied,
      planMs: deps.nowMs() - startMs,
      [Symbol.dispose]: () => held.dispose(),
    };
  } catch (error) {
    throw await inCallersText(error, statement, connection);
  }
}

/** Why a statement is not shared that is about tables, and not about their rows. */
async function toldOfTables(
  statement: Statement,
  context: Parameters<typeof catalogStatement>[1],
): Promise<NotSplit | undefined> {
  if (shownOf(statement.root) !== undefined) return { reason: "it shows a table" };
  return await catalogStatement(statement, context) === statement
    ? undefined
    : { reason: "it asks for PostgreSQL's catalog" };
}

/** The gate changes the statement; the copy is as it was asked. */
function copyOf(statement: Statement): Statement {
  return { ...statement, ...copiedDocument(statement.document) };
}

function fromTable({ statement: { root }, references, planned }: Planned): TablePlan | undefined {
  const own = references.find(({ node }) => node === root["from_table"]);
  return planned.find(({ name }) => name === own?.table);
}

function columnNames({ schema }: TablePlan): string[] {
  return schema.columns.map(({ name }) => name.toLowerCase());
}

/**
 * The table with the files that their bounds leave. Indexes are asked by the servers that read the
 * files.
 */
async function filesLeft(
  table: TablePlan,
  { predicates }: Planned,
  { deps, deadline }: SpreadContext,
): Promise<TablePlan> {
  const path = ({ key }: { readonly key: string }) => key;
  const whole = wholePlan(table, path);
  const predicate = predicates.get(table.name);
  if (predicate === undefined) return whole;
  return await pruneTable(whole, predicate, {
    indexes: undefined,
    store: deps.tables.store,
    path,
    footer: () => Promise.reject(new Error("no footer is read")),
    nowMs: deps.nowMs,
    signal: deadline.signal,
  });
}

function splitTable({ name, schema, parts, projected }: TablePlan) {
  return {
    name,
    columns: schema.columns,
    bytes: parts.reduce((sum, part) => sum + partBytes(part, projected), 0),
  };
}

/** Why a split cannot be used. */
function refusalOf(split: SplitStatement, tables: readonly TablePlan[]): NotSplit | undefined {
  const other = tables.find(({ name, delta }) => name !== split.table && delta.length > 0);
  if (other !== undefined) {
    return { reason: `rows of ${other.name} are only in the WAL, which other servers do not read` };
  }
  const deleted = tables.find(({ committed }) => committed.kind === "most");
  if (deleted !== undefined) {
    return {
      reason: `another engine deleted rows of ${deleted.name}, which one server leaves out`,
    };
  }
  if (tables.some(({ lost, lacking }) => (lost ?? lacking) !== undefined)) {
    return { reason: "rows are damaged, which the answer of one server tells" };
  }
  const cut = tables.find(({ name }) => name === split.table);
  if (cut === undefined || cut.parts.every(({ origin }) => origin !== "file")) {
    return { reason: "no data file is left to share" };
  }
  return undefined;
}

function spreadFiles({ parts, projected }: TablePlan): SpreadFile[] {
  return parts.flatMap((part) => {
    if (part.origin !== "file") return [];
    const { file } = part;
    const groups = regularGroups(file) ?? [];
    return [{
      key: file.key,
      bytes: partBytes(filePart(file, file.key), projected),
      rows: file.rows,
      groups: groups.map(({ firstRow, rows }) => ({ first: firstRow, end: firstRow + rows })),
    }];
  });
}

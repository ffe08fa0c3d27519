/**
 * From a request to a statement that can run: parse, gate, plan, relations. README.md tells the
 * whole way.
 */

import { present } from "../base/assert.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { IcebergReader } from "../iceberg/iceberg_reader.ts";
import type { DataFileLease, DataFiles } from "./files/data_files.ts";
import type { StatementCache } from "./statement/statement_cache.ts";
import type { ConstantsConnection } from "./bounds/constant_texts.ts";
import { costOf, type StatementWork } from "./cost/cost.ts";
import type { Deadline } from "./turns/deadline.ts";
import { applyDefaultOrder, isBareSelect } from "./order/default_order.ts";
import {
  type DescribedColumn,
  type EngineConnection,
  EngineFault,
  type Relation,
} from "./duckdb/driver.ts";
import { inCallersText } from "./statement/error_place.ts";
import type { EdgeTimes } from "./fast_paths/edge_times.ts";
import { type Approximation, type FastPath, fastPath } from "./fast_paths/fast_path.ts";
import type { TableAnswers } from "./fast_paths/table_answers.ts";
import { isChangedByName, renameFunctions } from "./functions/dialect.ts";
import { exchangeCalls, keepNames } from "./functions/exchange_calls.ts";
import { exchangeTimeCalls } from "./functions/utc_calls.ts";
import { gate, type TableReference } from "./gate/gate.ts";
import { type HeldPlan, heldPlan, type HeldSource } from "./held_rows/held_plan.ts";
import type { HeldRows } from "./held_rows/held_rows.ts";
import type { HotCall } from "./hot_caches/hot_call.ts";
import { generatedRows } from "./cost/generated_rows.ts";
import { instantColumns } from "./bind/instant_columns.ts";
import { joinedRows } from "./cost/joined_rows.ts";
import { bandRequest, type Steps, stepsOf } from "./order/ordered_bands.ts";
import { type FanIn, orderedRequest } from "./order/ordered_scan.ts";
import { nearestRequest, order, singleTable, unordered } from "./order/order_plan.ts";
import { parse, placeOfNode, type Statement, textAsItIs, textOfTree } from "./statement/parse.ts";
import { partRows, type Plan, type TablePlan, wholePlan } from "./plan/plan.ts";
import { plainWork } from "./cost/plain_work.ts";
import { type PlanSource, planTables } from "./plan/plan_tables.ts";
import { namedColumns, projectedOf } from "./plan/projection.ts";
import { lateStore } from "./files/object_cache/cache_error.ts";
import { usePromoted } from "./plan/promoted_attributes.ts";
import { emptySql, relationSql } from "./bind/relation.ts";
import { decodePin, encodePin } from "./plan/snapshot_pin.ts";
import { type BindText, quoteText } from "./duckdb/statement_text.ts";
import { nameTables, type TableName } from "./bind/table_names.ts";
import { tableScans } from "./cost/table_scans.ts";
import { type PruneDeps, pruneTable } from "./pruning/prune_table.ts";
import type { RowIndexes } from "./pruning/row_index.ts";
import { narrowNearest } from "./pruning/narrow_nearest.ts";
import { ALL, type Predicate } from "./pruning/predicate.ts";
import { tablePredicates } from "./pruning/table_predicates.ts";
import { type NamedTable, stemmedReferences } from "./bind/stemmed_references.ts";
import { untilAborted } from "./turns/until_aborted.ts";
import { type TimeBounds, timeBounds } from "./bounds/time_bounds.ts";
import { nodeAt, nodesAt, textAt, type TreeNode, walk, withRoot } from "./statement/syntax_tree.ts";
import type { Cost, QueryRequest, ScanOrdering, ServedBy } from "./types.ts";

export interface PrepareDeps extends PlanSource {
  readonly tables: IcebergReader;
  readonly dataFiles: DataFiles;
  readonly indexes: RowIndexes;
  /** As `NarrowDeps` has it. */
  readonly probedRows: number | undefined;
  readonly statements: StatementCache;
  readonly fanIn: FanIn;
  readonly held: HeldRows;
  readonly answers: TableAnswers;
  readonly edgeTimes: EdgeTimes;
  readonly nowMs: () => number;
}

/** A statement with all that it needs to run. */
export interface Prepared {
  readonly sql: string;
  /**
   * What `sql` names, over what a plan reads: `plan`, or what became of it when its files were
   * brought. `bind`: default, texts are literals.
   */
  readonly relations: (plan: Plan, bind?: BindText) => readonly Relation[];
  /** Whether there is anything to measure, or to wait for. */
  readonly isMeasured: boolean;
  /** As it was sent, for messages. */
  readonly statement: Statement;
  readonly explain: boolean;
  readonly plan: Plan;
  /**
   * `plan` as it is run: the connection that will run it may be asked first which part of it can
   * matter.
   */
  readonly narrowed: (connection: EngineConnection) => Promise<Plan>;
  /** For a request that gave one: what `Stats.snapshot` says. */
  readonly pin: string | undefined;
  /** A plan that `narrowed` gave, as it is run. */
  readonly steps: (plan: Plan) => Steps;
  /** What a cheap statement reads of rows in memory; undefined: it reads none. */
  readonly held?: (plan: Plan, options: Pick<HeldSource, "wants">) => HeldPlan;
  readonly cost: Cost;
  readonly columns: readonly DescribedColumn[];
  readonly ordering: ScanOrdering;
  readonly servedBy: ServedBy;
  /** What the fast path reads. */
  readonly reads?: string;
  /** Bounds of its answer, where that is not exact. */
  readonly approximation?: Approximation;
  /** Why no fast path answers; absent where one does. */
  readonly aside?: string;
  readonly defaultOrderApplied: boolean;
  readonly data: DataFileLease;
  /** Converted WAL files in use. */
  readonly leases: readonly Disposable[];
  readonly planMs: number;
  readonly deltaMs: number;
}

/** Errors: as `Engine.prepare` says; those of DuckDB itself still as `EngineFault`. */
export async function prepareStatement(
  connection: EngineConnection,
  request: QueryRequest,
  { deps, deadline, usesPromoted = true }: {
    readonly deps: PrepareDeps;
    readonly deadline: Deadline;
    /** Default true: attributes are read from promoted columns. */
    readonly usesPromoted?: boolean;
  },
): Promise<Prepared> {
  const startMs = deps.nowMs();
  const known = remembering(connection, deps.statements);
  const statement = await parse(known.serialize, request.sql);
  const { renamed, bounded } = renameFunctions(statement.root);
  const references = gate(statement.root, {
    namespace: request.namespace,
    placeOf: (node) => placeOfNode(statement.sql, node),
  });
  const { names, changed } = nameTables(statement.root, references);
  const calls = references.some(({ hot }) => hot !== undefined);
  const bindable = !(calls || changed || renamed);
  const bounds = await timeBounds(known, statement.root, references);
  const predicates = await tablePredicates(known, statement.root, references);
  const data = deps.dataFiles.lease(deadline.signal);
  deadline.blame(() => lateStore(data.reads?.unanswered, deadline.ms));
  const source = { ...deps, tables: deps.tables.through(data.store) };
  const planning = planTables(source, {
    namespace: request.namespace,
    tenant: request.tenant,
    tables: [...new Set(references.map((reference) => reference.table))],
    placeOf: (name) =>
      placeOfNode(statement.sql, references.find(({ table }) => table === name)?.node ?? {}),
    scans: tableScans(references),
    hotCalls: hotCallsOf(references),
    ranges: bounds.ranges,
    named: namedColumns(statement.root),
    deadline,
    pin: request.snapshot === undefined ? undefined : decodePin(request.snapshot),
    since: request.since === undefined ? undefined : BigInt(request.since),
    uncommittedOnly: request.uncommittedOnly ?? false,
  }, deps.nowMs);
  const planned = await untilAborted(planning, deadline.signal, disposeAll).catch((error) => {
    data[Symbol.dispose]();
    throw error;
  });
  const plannedTables = planned.tables;
  const leases: Disposable[] = [data, ...planned.leases];
  let isPromoted = false;
  let described: Awaited<ReturnType<typeof exchangedStatement>> | undefined;
  try {
    const defaultOrderApplied = request.defaultOrder && !statement.explain &&
      mayOrder(statement.root, references, plannedTables) &&
      applyDefaultOrder(statement.root, request.rowsMax);
    const promoted = usesPromoted
      ? usePromoted(statement.root, references, plannedTables)
      : undefined;
    isPromoted = promoted !== undefined;
    const isChanged = defaultOrderApplied || promoted !== undefined;
    // The statement may name other columns now.
    const tables = isChanged ? projectedAnew(promoted ?? plannedTables, statement) : plannedTables;
    // Summaries are of whole tables.
    const fast = request.fastPaths === false || tables.some(({ committed }) =>
        committed.kind === "since"
      )
      ? { aside: "the request wants rows read" }
      : await fastPath(statement.root, { references, tables }, {
        ...{ connection, micros: bounds.micros, data },
        ...{ answers: deps.answers, times: deps.edgeTimes },
        isExact: request.isExact ?? true,
        planOnly: request.planOnly === true || statement.explain,
        signal: deadline.signal,
      });
    if (!("aside" in fast)) leases.push(fast.lease);
    const single = singleTable(statement, references, tables);
    const wanted = single === undefined || !("aside" in fast)
      ? undefined
      : orderedRequest(statement.root);
    const nearest = nearestRequest(wanted);
    const pruneDeps = {
      indexes: deps.indexes,
      store: data.indexStore,
      path: (file: DataFile) => data.path(file),
      footer: (file: DataFile) => data.footer(file),
      nowMs: deps.nowMs,
      signal: deadline.signal,
    };
    const scanned = async () => {
      const whole = tables.map((table) => wholePlan(table, pruneDeps.path));
      const pruned = await pruneTables(whole, predicates, {
        ...pruneDeps,
        // Then they are asked of as few files as are needed, when it runs.
        indexes: nearest === undefined ? deps.indexes : undefined,
      });
      return await order(
        { statement, references, tables: pruned, complete: bounds.complete },
        { data, fanIn: deps.fanIn },
      );
    };
    const ordered = "aside" in fast ? await scanned() : withParts(tables, fast);
    const work = workOf(statement.root, { plan: ordered.plan, names });
    // Last: before, they are read as what was asked.
    const textOf = (select: TreeNode) => textAsItIs(known, withRoot(statement.document, select));
    const { exchanged: isExchanged, guarded } = await exchangeCalls(statement.root, {
      textOf,
      stemmed: stemmedReferences(statement.root, namedTables(references, plannedTables)),
    });
    const isTiming = await exchangeTimeCalls(statement.root, {
      instants: instantColumns(statement.root, references, tables),
      textOf,
      isNamedApart: bindable,
    });
    const exchanged = isExchanged || isTiming;
    if (!("aside" in fast)) await exchangeCalls(fast.root, { textOf, stemmed: new Set() });
    const sql = !bindable || !statement.embeddable || bounded || isChanged || exchanged
      ? await textOfTree(known, statement.document)
      : statement.sql;
    deadline.check();
    // Columns are called, and errors told, as it was sent where that can be bound. Binding
    // evaluates constants.
    if (guarded || bounded) described = await exchangedStatement(known, request.sql);
    const asked = bindable
      ? { sql: described?.text ?? statement.sql, tables: plannedTables }
      : { sql, tables };
    const columns = await deps.statements.columns(connection, {
      sql: asked.sql,
      shape: columnsShape(statement.document, bounds),
      relations: relationsOf(names, asked.tables, ({ schema }) => emptySql(schema.columns)),
    });
    deadline.check();
    const path = "aside" in fast
      ? { sql, relation: relationSql, aside: fast.aside, servedBy: "scan" as const }
      : {
        sql: await textOfTree(known, withRoot(statement.document, fast.root)),
        relation: fast.relation,
        servedBy: fast.servedBy,
        ...(fast.approximation === undefined ? {} : { approximation: fast.approximation }),
        reads: fast.reads,
      };
    const relations = (plan: Plan, bind: BindText = quoteText) =>
      relationsOf(names, plan.tables, (table) => path.relation(table, bind));
    const { plan } = ordered;
    const narrowed = async (running: EngineConnection) => {
      if (nearest === undefined || single === undefined) return plan;
      const predicate = predicates.get(single.name) ?? ALL;
      const asked = { statement, wanted: nearest, predicate, relations };
      const narrowing = narrowNearest(present(plan.tables[0]), asked, {
        ...pruneDeps,
        connection: remembering(running, deps.statements),
        bring: (probed) => data.bring(probed),
        probedRows: deps.probedRows,
      });
      return { ...plan, tables: [await untilAborted(narrowing, deadline.signal)] };
    };
    const stepped = wanted === undefined ? undefined : bandRequest(statement.root);
    const lease = deps.held.lease();
    leases.push(lease);
    return {
      ...path,
      relations,
      ...("aside" in fast
        ? {
          held: (whole: Plan, { wants }: Pick<HeldSource, "wants">) =>
            heldPlan(whole, { lease, wants }),
        }
        : {}),
      isMeasured: "aside" in fast ? !readsNothing(statement.root) : fast.parts.length > 0,
      statement,
      explain: statement.explain,
      plan,
      narrowed,
      steps: (whole) => stepsOf(whole, stepped),
      pin: request.snapshot === undefined ? undefined : encodePin(plan.tables),
      cost: costOf(ordered.plan, work),
      columns,
      ordering: ordered.ordering,
      defaultOrderApplied,
      data,
      leases,
      planMs: deps.nowMs() - startMs - planned.deltaMs,
      deltaMs: planned.deltaMs,
    };
  } catch (error) {
    disposeAll({ leases });
    // What is wrong with it is told of the columns that its caller knows.
    if (isPromoted && error instanceof EngineFault && error.kind === "statement") {
      return await prepareStatement(connection, request, { deps, deadline, usesPromoted: false });
    }
    throw await inCallersText(error, { ...statement, ...described }, connection);
  }
}

/** The statement with nothing else changed in it, as a tree and as text. */
async function exchangedStatement(
  known: ConstantsConnection,
  sql: string,
): Promise<Pick<Statement, "document"> & { readonly text: string }> {
  const { document, root } = await parse(known.serialize, sql);
  const textOf = (select: TreeNode) => textAsItIs(known, withRoot(document, select));
  await keepNames(root, { textOf, wants: isChangedByName });
  renameFunctions(root);
  await exchangeCalls(root, { textOf, stemmed: new Set() });
  return { document, text: await textOfTree(known, document) };
}

/** The connection, asked nothing whose answer is still known. */
function remembering(
  connection: EngineConnection,
  statements: StatementCache,
): ConstantsConnection {
  return {
    serialize: (sql) => statements.tree(connection, sql),
    deserialize: (tree) => statements.text(connection, tree),
    texts: (sql) => connection.texts(sql),
    steadyTexts: (sql) => statements.values(connection, sql),
  };
}

/**
 * What a statement's columns can depend on: all of it but where it stands and the instants that
 * bound its time.
 */
function columnsShape(document: TreeNode, { micros }: TimeBounds): string {
  return JSON.stringify(document, (member, value) => {
    if (member === "query_location") return undefined;
    return micros.get(value) === undefined ? value : null;
  });
}

/** The plan of a fast path: what it reads of its one table. */
function withParts(
  tables: readonly TablePlan[],
  { parts, projected }: FastPath,
): { readonly plan: Plan; readonly ordering: ScanOrdering } {
  return {
    plan: { tables: tables.map((table) => ({ ...table, parts, projected })) },
    ordering: unordered({ projected }),
  };
}

function workOf(
  root: TreeNode,
  { plan, names }: { readonly plan: Plan; readonly names: readonly TableName[] },
): StatementWork {
  const rowsOf = (name: string) => {
    const table = names.find((known) => known.name === name)?.table;
    const planned = plan.tables.find((candidate) => candidate.name === table);
    return planned?.parts.reduce((sum, part) => sum + partRows(part), 0);
  };
  return {
    generated: generatedRows(root),
    joined: joinedRows(root, rowsOf),
    plain: plainWork(root),
  };
}

/** `SELECT 1` and its like: no table, no rows made of nothing, no other SELECT. */
function readsNothing(root: TreeNode): boolean {
  if (textAt(nodeAt(root, "from_table") ?? {}, "type") !== "EMPTY") return false;
  if (nodesAt(nodeAt(root, "cte_map") ?? {}, "map").length > 0) return false;
  let found = false;
  walk(root, (node) => {
    const name = textAt(node, "function_name").toLowerCase();
    found ||= textAt(node, "class") === "SUBQUERY" || name === "unnest" || name === "range" ||
      name === "generate_series";
  });
  return !found;
}

function disposeAll({ leases }: { readonly leases: readonly Disposable[] }): void {
  for (const lease of leases) lease[Symbol.dispose]();
}

function pruneTables(
  tables: readonly TablePlan[],
  predicates: ReadonlyMap<string, Predicate>,
  deps: PruneDeps,
): Promise<TablePlan[]> {
  return Promise.all(tables.map((table) => {
    const predicate = predicates.get(table.name);
    return predicate === undefined ? table : pruneTable(table, predicate, deps);
  }));
}

function projectedAnew(tables: readonly TablePlan[], { root }: Statement): readonly TablePlan[] {
  const named = namedColumns(root);
  return tables.map((table) => ({ ...table, projected: projectedOf(table, named) }));
}

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

/** By the names of their tables. */
function hotCallsOf(references: readonly TableReference[]): ReadonlyMap<string, HotCall> {
  return new Map(references.flatMap(({ table, hot }) => hot === undefined ? [] : [[table, hot]]));
}

/** The implicit order is for one stored table with a column `timestamp` that is its time. */
function mayOrder(
  root: TreeNode,
  references: readonly TableReference[],
  tables: readonly TablePlan[],
): boolean {
  if (!isBareSelect(root)) return false;
  const own = references.find((reference) => reference.node === root["from_table"]);
  const table = tables.find((candidate) => candidate.name === own?.table);
  if (table === undefined || !table.order.isImplicit) return false;
  return table.schema.columns.some(({ name, type }) =>
    name === "timestamp" && type === "timestamptz"
  );
}

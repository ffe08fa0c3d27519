/**
 * The phase that looks at the tables: which snapshot, files and pieces of the WAL a statement is
 * to read. From here on the statement holds leases.
 */

import type { Bounded } from "../bounds/bound_statement.ts";
import type { DataFileLease, DataFiles } from "../files/data_files.ts";
import { lateStore } from "../files/object_cache/cache_error.ts";
import type { TableReference } from "../gate/gate.ts";
import type { HotCall } from "../hot_caches/hot_call.ts";
import type { IcebergReader } from "../../iceberg/iceberg_reader.ts";
import { type MadeRelation, madeRelations } from "../pg_catalog/relations.ts";
import { ATTRIBUTES } from "../../schema/promoted.ts";
import { placeOfNode } from "../statement/parse.ts";
import { listAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { Deadline } from "../turns/deadline.ts";
import { untilAborted } from "../../base/until_aborted.ts";
import type { FrozenTables } from "../shards/shard.ts";
import type { QueryRequest } from "../types.ts";
import type { TablePlan } from "./plan.ts";
import type { PlanRequest, PlanSource } from "./plan_request.ts";
import { planTables } from "./plan_tables.ts";
import { type AttributeCall, attributeCalls } from "./attribute_calls.ts";
import { countedNames } from "../fast_paths/counted_hint.ts";
import { nearestHint } from "../order/nearest_hint.ts";
import { namedColumns } from "./projection.ts";
import { decodePin, encodePin, LATEST } from "./snapshot_pin.ts";

/** A bounded statement with the tables that it reads, and the leases that it holds. */
export interface Planned extends Bounded {
  /** The tables as the catalog and the WAL have them; which parts are read is still open. */
  readonly planned: readonly TablePlan[];
  /** The snapshot pin that `Stats.snapshot` tells, for a request that gave one. */
  readonly pin: string | undefined;
  readonly data: DataFileLease;
  /** What the statement holds: `data`, converted WAL files, and what later phases take. */
  readonly leases: DisposableStack;
  /** The tables as they were found, for statements that read them once more. */
  readonly frozen: FrozenTables;
  /** Milliseconds spent on the WAL. */
  readonly deltaMs: number;
  /** The relations of PostgreSQL's catalog, as they are for this statement. */
  readonly made: readonly MadeRelation[];
}

/** What planning takes from the engine. */
export interface PlanDeps extends PlanSource {
  readonly tables: IcebergReader;
  readonly dataFiles: DataFiles;
  readonly nowMs: () => number;
}

interface PlanContext {
  readonly request: QueryRequest;
  readonly deps: PlanDeps;
  readonly deadline: Deadline;
  /** Whether rows of the WAL may be counted in place of being read; default true. */
  readonly mayCount?: boolean;
  /** Whether rows of the WAL may lack columns that the statement does not need; default false. */
  readonly mayLeaveOut?: boolean;
}

/**
 * Plans the statement's tables and takes leases on what they have. Errors: `invalid_argument`
 * (`pin_malformed`), those of `planTables`, and the deadline's.
 */
export async function planStatement(
  bounded: Bounded,
  context: PlanContext,
): Promise<Planned> {
  const { request, deps, deadline } = context;
  using leases = new DisposableStack();
  const data = leases.use(deps.dataFiles.lease(deadline.signal));
  deadline.blame({
    silentMs: () => data.reads?.unanswered?.forMs ?? 0,
    error: () => lateStore(data.reads?.unanswered, deadline.ms),
  });
  const source = { ...deps, tables: deps.tables.through(data.store) };
  const planning = planTables(source, requestOf(bounded, context), deps.nowMs);
  const { tables, frozen, leases: own, deltaMs } = await untilAborted(
    planning,
    deadline.signal,
    (late) => late.leases.dispose(),
  );
  leases.use(own);
  const made = await madeRelations(bounded.catalog, {
    ...{ source, namespace: request.namespace, session: request.session, deadline },
  });
  return {
    ...bounded,
    made,
    planned: tables,
    pin: request.snapshot === undefined ? undefined : encodePin(tables),
    data,
    leases: leases.move(),
    frozen,
    deltaMs,
  };
}

function requestOf(
  bounded: Bounded,
  { request, deadline, mayCount = true, mayLeaveOut = false }: Omit<PlanContext, "deps">,
): PlanRequest {
  const { statement, references, bounds, predicates } = bounded;
  const named = namedColumns(statement.root);
  let found: readonly AttributeCall[] | undefined;
  const calls = () => found ??= attributeCalls(statement.root);
  return {
    namespace: request.namespace,
    tenant: request.tenant,
    tables: [...new Set(references.map(({ table }) => table))],
    placeOf: (name) =>
      placeOfNode(statement.sent, references.find(({ table }) => table === name)?.node ?? {}),
    scans: tableScans(references),
    hotCalls: hotCallsOf(references),
    ranges: bounds.ranges,
    predicates,
    nearest: nearestHint(bounded, request),
    counted: mayCount ? countedNames(bounded, request) : undefined,
    named,
    attributes: () => new Set(calls().map(({ attribute }) => attribute)),
    needed: mayLeaveOut && named !== undefined
      ? () => neededOf(statement.root, calls())
      : undefined,
    deadline,
    shard: request.shard,
    frozen: request.frozen,
    received: request.received,
    ...rowsOf(request),
  };
}

/** Names of columns without those that just calls of attributes look into. */
function neededOf(
  root: TreeNode,
  calls: readonly AttributeCall[],
): ReadonlySet<string> | undefined {
  const called = calls.map(({ column }) => column);
  const isAttributes = (column: TreeNode) =>
    String(listAt(column, "column_names").at(-1)).toLowerCase() === ATTRIBUTES;
  return namedColumns(root, new Set(called.filter(isAttributes)));
}

/** Which rows of the tables the request reads. */
function rowsOf(
  { snapshot, since, uncommittedOnly = false, step }: QueryRequest,
): Pick<PlanRequest, "pin" | "since" | "uncommittedOnly" | "appended"> {
  if (step?.kind === "wal") {
    const { appended } = step;
    return { pin: decodePin(LATEST), since: undefined, uncommittedOnly: true, appended };
  }
  const asked = step ?? { snapshot, since };
  return {
    pin: asked.snapshot === undefined ? undefined : decodePin(asked.snapshot),
    since: asked.since === undefined ? undefined : BigInt(asked.since),
    uncommittedOnly,
    appended: undefined,
  };
}

/**
 * Counts how often a statement reads each of its tables: once wherever it names it. Recursion, or a
 * WITH that is not materialized, reads a table again without naming it. That is counted when it has
 * run (`duckdb/rows_breaker.ts`).
 */
function tableScans(references: readonly TableReference[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { table } of references) counts.set(table, (counts.get(table) ?? 0) + 1);
  return counts;
}

/** Returns the calls of hot caches, by the names of their tables. */
function hotCallsOf(references: readonly TableReference[]): ReadonlyMap<string, HotCall> {
  return new Map(references.flatMap(({ table, hot }) => hot === undefined ? [] : [[table, hot]]));
}

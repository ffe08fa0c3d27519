/**
 * The phase that decides which parts of its tables a statement reads: what its fast path needs, or
 * what its conditions leave of all of them.
 */

import type { FastPath } from "../fast_paths/fast_path.ts";
import type { Shortened } from "../fast_paths/shorten_statement.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { readsOnlyFrom } from "../order/nearest_hint.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { orderedRequest, type OrderRefusal } from "../order/ordered_scan.ts";
import { type Plan, type TablePlan, wholePlan } from "../plan/plan.ts";
import type { StatementCache } from "../statement/statement_cache.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { NearestTrial } from "./narrow_nearest.ts";
import { cutTable } from "../shards/cut_table.ts";
import type { QueryRequest } from "../types.ts";
import { ALL, type Predicate } from "./predicate.ts";
import { type PruneDeps, pruneTable } from "./prune_table.ts";
import type { RowIndexes } from "./row_index.ts";

export interface Pruned extends Shortened {
  /** What a scan of one table wants in order; undefined: more tables are read, or no rows. */
  readonly wanted: OrderedRequest | OrderRefusal | undefined;
  /** What the connection that runs the statement is asked before; undefined: nothing. */
  readonly trial: NearestTrial | undefined;
}

export interface PruneStatementDeps {
  readonly indexes: RowIndexes;
  readonly statements: StatementCache;
  /** Rows of a trial's first probe; undefined: the default of `narrow_nearest.ts`. */
  readonly probedRows: number | undefined;
  readonly nowMs: () => number;
}

/** Errors: the deadline's. */
export async function pruneStatement(
  shortened: Shortened,
  { deps, deadline, request }: {
    readonly deps: PruneStatementDeps;
    readonly deadline: Deadline;
    readonly request: Pick<QueryRequest, "shard">;
  },
): Promise<Pruned> {
  const { path, statement, references, predicates, filter, tables, data } = shortened;
  if (path.kind === "summaries") {
    const own = withParts(tables, path.fast);
    return { ...shortened, tables: own, wanted: undefined, trial: undefined };
  }
  // What narrows a scan to its nearest rows chooses parts of whole data files.
  const isCut = tables.some(({ cuts, received }) => (cuts ?? received) !== undefined);
  const single = isCut || !readsOnlyFrom(statement.root, references) ? undefined : tables[0];
  const wanted = single === undefined ? undefined : orderedRequest(statement.root);
  const nearest = nearestRequest(wanted);
  const pruning: PruneDeps = {
    indexes: deps.indexes,
    store: data.indexStore,
    path: (file) => data.path(file),
    footer: (file) => data.footer(file),
    nowMs: deps.nowMs,
    signal: deadline.signal,
    shards: request.shard?.count ?? 1,
  };
  const trial = single === undefined || nearest === undefined ? undefined : {
    wanted: nearest,
    predicate: predicates.get(single.name) ?? ALL,
    filter,
    deps: {
      ...pruning,
      bring: (plan: Plan) => data.bring(plan),
      open: (file: DataFile) => data.open(file),
      ...data.pages === undefined ? {} : { pages: data.pages },
      statements: deps.statements,
      probedRows: deps.probedRows,
    },
  };
  const whole = tables.map((table) => wholePlan(table, pruning.path));
  const pruned = await pruneTables(whole, predicates, {
    ...pruning,
    // A trial asks indexes of as few files as it needs, when the statement runs.
    indexes: trial === undefined ? deps.indexes : undefined,
  });
  return { ...shortened, tables: pruned.map(cutTable), wanted, trial };
}

/** Which of its filter's rows a statement wants first, where that can be tried out beforehand. */
function nearestRequest(wanted: Pruned["wanted"]): OrderedRequest | undefined {
  if (wanted === undefined || !("ordering" in wanted)) return undefined;
  const { direction, rows } = wanted;
  return direction === undefined || rows === undefined ? undefined : { direction, rows };
}

/** The tables of a fast path: what it reads of its one table. */
function withParts(
  tables: readonly TablePlan[],
  { parts, projected }: FastPath,
): readonly TablePlan[] {
  return tables.map((table) => ({ ...table, parts, projected }));
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

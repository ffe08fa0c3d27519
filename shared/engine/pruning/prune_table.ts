/**
 * Leaves out of a table's plan what its predicate proves to be without a row of the answer. Files
 * are left out by the bounds in their manifests, then rows by the files' indexes. Rows that are
 * only in the WAL are always read.
 */

import type { RowQuery } from "../../derived/rows/row_query.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { filePart, rowsOfParts, type ScanPart, type TablePlan } from "../plan/plan.ts";
import { untilAborted } from "../../base/until_aborted.ts";
import { boundsPredicate, commonBoundsPredicate, indexPredicate } from "./attribute_leaves.ts";
import { boundsOfFile, mayMeet } from "./column_bounds.ts";
import { type FileSelection, partsMs, type SelectionDeps, selectOfFile } from "./file_selection.ts";
import { LookupAllowance } from "./lookup_allowance.ts";
import { overColumns, type Predicate } from "./predicate.ts";
import { rowQueryOf } from "./row_query_of.ts";
import type { RowIndexes } from "./row_index.ts";

/** What pruning reads: indexes, footers and sidecars. */
export interface PruneDeps extends Omit<SelectionDeps, "indexes"> {
  /** undefined: no indexes are asked. */
  readonly indexes: RowIndexes | undefined;
  readonly nowMs: () => number;
  /** How many shards of the statement do the same; default: 1. */
  readonly shards?: number;
  /** Aborting it ends lookups, with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Lookups of one statement at the same time, and before one of them has spared anything. What all
 * shards of a statement look up in vain is to be no more than what one server would.
 */
const LOOKUPS_MAX = 16;
const FIRST_LOOKUPS = 4;
/**
 * Parts of files, each a scan of its own. Past this number the files of which least is left out are
 * read whole.
 */
const PARTS_MAX = 256;

/** Prunes the plan of one table. Errors: the reason of `deps.signal`. */
export async function pruneTable(
  plan: TablePlan,
  predicate: Predicate,
  deps: PruneDeps,
): Promise<TablePlan> {
  const known = overColumns(predicate, plan);
  if (known.kind === "all" || plan.files.length === 0) return plan;
  const files = withinBounds(plan, known);
  const { indexes } = deps;
  const queryOf = indexQueries(known, plan);
  const selections = indexes === undefined || rowQueryOf(known).kind === "all"
    ? new Map<DataFile, FileSelection>()
    : await untilAborted(lookUp(files, { plan, queryOf }, { ...deps, indexes }), deps.signal);
  const condition = commonBoundsPredicate(known, plan);
  return prunedPlan(plan, files, { condition, selections, path: deps.path });
}

/** The files that may hold a row that meets the predicate, by the bounds of their columns. */
export function withinBounds(
  plan: TablePlan,
  predicate: Predicate<Column>,
): readonly DataFile[] {
  return plan.files.filter((file) =>
    mayMeet(boundsPredicate(predicate, plan, file), boundsOfFile(file))
  );
}

/** What is asked of the indexes of each file. Files that are asked alike get the same query. */
export function indexQueries(
  predicate: Predicate<Column>,
  plan: TablePlan,
): (file: DataFile) => RowQuery {
  const known = new Map<string, RowQuery>();
  return (file) => {
    const own = indexPredicate(predicate, plan, file);
    const name = own === predicate ? "" : JSON.stringify(own, bigintsAsTexts);
    const query = known.get(name) ?? rowQueryOf(own);
    known.set(name, query);
    return query;
  };
}

function bigintsAsTexts(_member: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

/** Asks the newest files first, as long as it is worth it. The newest file is asked in any case. */
async function lookUp(
  files: readonly DataFile[],
  { plan, queryOf }: {
    readonly plan: TablePlan;
    readonly queryOf: (file: DataFile) => RowQuery;
  },
  deps: SelectionDeps & Pick<PruneDeps, "nowMs" | "shards" | "signal">,
): Promise<ReadonlyMap<DataFile, FileSelection>> {
  const wholes = files.map((file) => filePart(file, deps.path(file)));
  const allowance = new LookupAllowance(deps.nowMs, partsMs(wholes, plan));
  const selections = new Map<DataFile, FileSelection>();
  const left = files.toReversed();
  const workers: Promise<void>[] = [];
  const begin = (most: number) => {
    while (workers.length < most && left.length > 0) {
      const one = worker();
      // It is waited for below, where a failure of another may come first.
      one.catch(() => {});
      workers.push(one);
    }
  };
  const worker = async () => {
    do {
      const file = left.shift();
      if (file === undefined || deps.signal.aborted) return;
      const selection = await selectOfFile(file, { plan, query: queryOf(file) }, deps);
      selections.set(file, selection);
      const savedMs = partsMs([selection.whole], plan) - partsMs(selection.parts, plan);
      allowance.saved(savedMs);
      if (savedMs > 0) begin(LOOKUPS_MAX);
    } while (allowance.isLeft);
  };
  begin(Math.max(1, Math.floor(FIRST_LOOKUPS / (deps.shards ?? 1))));
  // Others may begin meanwhile.
  for (const one of workers) await one;
  return selections;
}

/** The plan of `files`. A file of which nothing was selected is read whole. */
export function prunedPlan(
  plan: TablePlan,
  files: readonly DataFile[],
  { condition, selections, path, delta = plan.parts.filter(({ origin }) => origin === "delta") }: {
    /** What is known of the rows that are needed. */
    readonly condition: Predicate<Column>;
    readonly selections: ReadonlyMap<DataFile, FileSelection>;
    readonly path: (file: DataFile) => string;
    /** What is read of the WAL; default: all of it. */
    readonly delta?: readonly ScanPart[];
  },
): TablePlan {
  const own = files.map((file) =>
    selections.get(file) ?? wholeSelection(filePart(file, path(file)))
  );
  const limited = limitParts(own);
  return {
    ...plan,
    parts: [...limited.flatMap(({ parts }) => parts), ...delta],
    pruned: {
      condition,
      files:
        limited.filter(({ whole, rowGroupsPruned }) => rowGroupsPruned === whole.rowGroups).length,
      rowGroups: limited.reduce((sum, one) => sum + one.rowGroupsPruned, 0),
    },
  };
}

function wholeSelection(whole: ScanPart): FileSelection {
  return { whole, parts: [whole], rowGroupsPruned: 0 };
}

/**
 * Keeps the selections that spare most where parts are too many: each part of a file costs a scan
 * of its own.
 */
function limitParts(selections: readonly FileSelection[]): readonly FileSelection[] {
  const partial = selections.filter(({ parts, whole }) => parts.some((part) => part !== whole));
  if (partial.reduce((sum, { parts }) => sum + parts.length, 0) <= PARTS_MAX) return selections;
  const spared = ({ whole, parts }: FileSelection) =>
    (whole.rows - rowsOfParts(parts)) / parts.length;
  const kept = new Set<FileSelection>();
  let count = 0;
  for (const selection of partial.toSorted((a, b) => spared(b) - spared(a))) {
    count += selection.parts.length;
    if (count > PARTS_MAX) break;
    kept.add(selection);
  }
  const all = new Set(partial);
  return selections.map((one) => !all.has(one) || kept.has(one) ? one : wholeSelection(one.whole));
}

/**
 * A newest-first or oldest-first statement with a filter, narrowed just before it runs: see
 * `nearest_rows.ts`.
 */

import type { DataFileLease } from "../files/data_files.ts";
import { type EngineConnection, EngineFault, type Relation } from "../duckdb/driver.ts";
import { newestFirst, type OrderedRequest } from "../order/ordered_scan.ts";
import type { Statement } from "../statement/parse.ts";
import { filePart, type Plan, type ScanPart, type TablePlan } from "../plan/plan.ts";
import { namedColumns, projectedOf } from "../plan/projection.ts";
import { selectOfFile } from "./file_selection.ts";
import { type NearestDeps, nearestRows } from "./nearest_rows.ts";
import { relationSql } from "../bind/relation.ts";
import { ALL, overColumns, type Predicate } from "./predicate.ts";
import {
  probedDocument,
  probedRoot,
  type ProbedRows,
  probedRowsOf,
  probedRowsSql,
} from "./probed_rows.ts";
import { type PruneDeps, prunedPlan, pruneTable, withinBounds } from "./prune_table.ts";
import { rowQueryOf } from "./row_query_of.ts";

export interface NearestStatement {
  readonly statement: Statement;
  readonly wanted: OrderedRequest;
  readonly predicate: Predicate;
  /** What the statement's names stand for, over what a plan reads. */
  readonly relations: (plan: Plan) => readonly Relation[];
}

export interface NarrowDeps extends PruneDeps {
  /** The one that the statement will run on. */
  readonly connection: Pick<EngineConnection, "texts" | "deserialize">;
  readonly bring: DataFileLease["bring"];
  /** Rows of the first probe; default `PROBED_ROWS`. */
  readonly probedRows: number | undefined;
}

/**
 * Finding words in so many rows takes some milliseconds. So does decoding the row group that they
 * are in.
 */
const PROBED_ROWS = 4_096;
/** A table with fewer times the rows of a first probe is scanned at once. */
const TABLE_ROWS_FACTOR_MIN = 48;

/** Errors: the reason of `deps.signal`; the store's, of data files. */
export async function narrowNearest(
  table: TablePlan,
  asked: NearestStatement,
  deps: NarrowDeps,
): Promise<TablePlan> {
  const { wanted, predicate } = asked;
  const firstRows = deps.probedRows ?? PROBED_ROWS;
  const known = overColumns(predicate, table);
  const files = withinBounds(table.files, known);
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const nearest = rows < firstRows * TABLE_ROWS_FACTOR_MIN ? undefined : await nearestRows(
    table,
    files,
    {
      ...wanted,
      deps: {
        select: selection(table, predicate, deps),
        groups: async (file) => (await deps.footer(file)).rowGroups,
        probe: prober(table, asked, deps),
        edge: edgeFinder(table, asked, deps),
        firstRows,
        signal: deps.signal,
      },
    },
  );
  const plan = nearest === undefined
    ? await pruneTable(table, predicate, deps)
    : prunedPlan(table, files.filter((file) => nearest.selections.has(file)), {
      condition: table.pruned?.condition ?? ALL,
      selections: nearest.selections,
      path: deps.path,
      delta: nearest.delta,
    });
  return wanted.direction === "newest" ? { ...plan, parts: newestFirst(plan) } : plan;
}

function selection(
  plan: TablePlan,
  predicate: Predicate,
  deps: PruneDeps,
): NearestDeps["select"] {
  const { indexes } = deps;
  const query = rowQueryOf(overColumns(predicate, plan));
  return async (file) => {
    if (indexes !== undefined && query.kind !== "all") {
      return await selectOfFile(file, { plan, query }, { ...deps, indexes });
    }
    const whole = filePart(file, deps.path(file));
    return { whole, parts: [whole], rowGroupsPruned: 0 };
  };
}

function prober(
  table: TablePlan,
  { statement, wanted: { direction }, relations }: NearestStatement,
  { connection, bring, signal }: NarrowDeps,
): NearestDeps["probe"] {
  const named = namedColumns(probedRoot(statement.root));
  const projected = projectedOf(table, named);
  const document = JSON.stringify(probedDocument(statement.document, statement.root));
  return async (parts: readonly ScanPart[], rows: number): Promise<ProbedRows | undefined> => {
    const plan = await bring({ tables: [{ ...table, parts, projected }] });
    try {
      const sql = await connection.deserialize(document);
      const wanted = { direction, rows };
      const text = probedRowsSql(sql, { relations: relations(plan), wanted });
      return probedRowsOf(await connection.texts(text));
    } catch (error) {
      signal.throwIfAborted();
      // The statement itself tells what is wrong with it.
      if (error instanceof EngineFault) return undefined;
      throw error;
    }
  };
}

function edgeFinder(
  table: TablePlan,
  { wanted: { direction } }: NearestStatement,
  { connection, bring, signal }: NarrowDeps,
): NearestDeps["edge"] {
  const projected = projectedOf(table, new Set(["timestamp"]));
  const last = direction === "newest" ? "min" : "max";
  return async (part) => {
    const { tables: [brought] } = await bring({ tables: [{ ...table, parts: [part], projected }] });
    if (brought === undefined) return undefined;
    try {
      const sql = `SELECT epoch_us(${last}("timestamp"))::VARCHAR FROM (${relationSql(brought)})`;
      const [row] = await connection.texts(sql);
      const text = row?.[0];
      return text === null || text === undefined ? undefined : BigInt(text);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof EngineFault) return undefined;
      throw error;
    }
  };
}

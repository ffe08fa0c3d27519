/**
 * A newest-first or oldest-first statement with a filter, narrowed just before it runs: see
 * `nearest_rows.ts`.
 */

import type { DataFile } from "../../iceberg/types.ts";
import type { DataFileLease } from "../files/data_files.ts";
import { readPartRows } from "../files/few_rows/read_part_rows.ts";
import { type EngineConnection, EngineFault, type Relation } from "../duckdb/driver.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { newestFirst } from "../order/ordered_scan.ts";
import { present } from "../../base/assert.ts";
import type { Statement } from "../statement/parse.ts";
import type { CachedConnection, StatementCache } from "../statement/statement_cache.ts";
import { untilAborted } from "../../base/until_aborted.ts";
import { totalRows } from "../../base/total_rows.ts";
import { filePart, type Plan, scannedRows, type ScanPart, type TablePlan } from "../plan/plan.ts";
import { namedColumns, projectedOf } from "../plan/projection.ts";
import { type EqualTexts, type ExactFilter, filterOfFile } from "./exact_filter.ts";
import { selectOfFile } from "./file_selection.ts";
import { type NearestDeps, nearestRows } from "./nearest_rows.ts";
import { probePages } from "./page_probe.ts";
import { ALL, overColumns, type Predicate } from "./predicate.ts";
import {
  placedRowsOf,
  placedRowsSql,
  probedDocument,
  probedRoot,
  type ProbedRows,
  probedRowsOf,
  probedRowsSql,
} from "./probed_rows.ts";
import {
  indexQueries,
  type PruneDeps,
  prunedPlan,
  pruneTable,
  withinBounds,
} from "./prune_table.ts";

/** What is to be found out of a table before its scan begins. */
export interface NearestTrial {
  readonly wanted: OrderedRequest;
  readonly predicate: Predicate;
  /** The whole condition, where columns of files tell it. */
  readonly filter: ExactFilter | undefined;
  readonly deps: PruneDeps & Pick<DataFileLease, "bring" | "open" | "pages"> & {
    readonly statements: StatementCache;
    /** Rows of the first probe; default `PROBED_ROWS`. */
    readonly probedRows: number | undefined;
  };
}

/** Whose table it is. */
export interface TriedStatement {
  readonly statement: Statement;
  /** What its names stand for, over what a plan reads. */
  readonly relations: (plan: Plan) => readonly Relation[];
}

interface Trying extends TriedStatement, NearestTrial {
  /** The connection that the statement will run on. */
  readonly connection: CachedConnection;
}

/**
 * Finding words in so many rows takes some milliseconds. So does decoding the row group that they
 * are in.
 */
const PROBED_ROWS = 4_096;
/** A table with fewer times the rows of a first probe is scanned at once. */
const TABLE_ROWS_FACTOR_MIN = 8;

/**
 * The plan with as much of its one table as holds the wanted rows. Errors: the reason of
 * `deps.signal`; the store's, of data files.
 */
export async function narrowNearest(
  plan: Plan,
  trial: NearestTrial,
  { connection, ...tried }: TriedStatement & { readonly connection: EngineConnection },
): Promise<Plan> {
  const { signal, statements } = trial.deps;
  const trying = { ...trial, ...tried, connection: statements.over(connection) };
  const table = await untilAborted(narrowTable(present(plan.tables[0]), trying), signal);
  return { ...plan, tables: [table] };
}

async function narrowTable(table: TablePlan, trying: Trying): Promise<TablePlan> {
  const { wanted, predicate, deps } = trying;
  const firstRows = deps.probedRows ?? PROBED_ROWS;
  const known = overColumns(predicate, table);
  const files = withinBounds(table, known);
  const rows = totalRows(files);
  const nearest = rows < firstRows * TABLE_ROWS_FACTOR_MIN ? undefined : await nearestRows(
    table,
    files,
    {
      ...wanted,
      deps: {
        select: selection(table, predicate, deps),
        groups: async (file) => (await deps.footer(file)).rowGroups,
        probe: prober(table, trying),
        edge: edgeFinder(table, trying),
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
  const queryOf = indexQueries(overColumns(predicate, plan), plan);
  return (file) => {
    if (indexes !== undefined) {
      return selectOfFile(file, { plan, query: queryOf(file) }, { ...deps, indexes });
    }
    const whole = filePart(file, deps.path(file));
    return { whole, parts: [whole], rowGroupsPruned: 0 };
  };
}

/** What pages tell, or else DuckDB. */
function prober(table: TablePlan, trying: Trying): NearestDeps["probe"] {
  const { wanted: { direction }, filter, deps } = trying;
  const ask = duckdbProber(table, trying);
  const timestamp = table.stored.columns.find(({ name }) => name === "timestamp");
  if (filter === undefined || timestamp === undefined) return ask;
  const known = new Map<DataFile, EqualTexts | undefined>();
  const filterOf = (file: DataFile) => {
    if (!known.has(file)) known.set(file, filterOfFile(filter, table, file));
    return known.get(file);
  };
  const isSorted = ({ sortOrderId }: DataFile) =>
    sortOrderId !== 0 && sortOrderId === table.order.id;
  return async (parts, rows) => {
    const wanted = { direction, rows };
    const { signal } = deps;
    const probe = {
      wanted,
      range: table.range,
      filterOf,
      isSorted,
      timestamp,
      lease: deps,
      signal,
    };
    try {
      const told = await probePages(parts, probe);
      if (told !== undefined) return told;
    } catch {
      // Whoever scans the file tells what is wrong with it.
      signal.throwIfAborted();
    }
    return await ask(parts, rows);
  };
}

function duckdbProber(
  table: TablePlan,
  { statement, wanted: { direction }, relations, connection, deps: { bring, signal } }: Trying,
): NearestDeps["probe"] {
  const named = namedColumns(probedRoot(statement.root));
  const projected = projectedOf(table, named);
  const documentOf = (place?: string) =>
    JSON.stringify(probedDocument(statement.document, statement.root, place));
  const canPlace = table.schema.columns.every(({ name }) => name !== PLACE);
  return async (parts: readonly ScanPart[], rows: number): Promise<ProbedRows | undefined> => {
    const plan = await bring({ tables: [{ ...table, parts, projected }] });
    const wanted = { direction, rows };
    const looked = scannedRows(plan);
    try {
      if (canPlace && rows <= PLACED_ROWS_MAX && plan.tables.every(isPlaced)) {
        const sql = await connection.deserialize(documentOf(PLACE));
        const placed = { tables: plan.tables.map((one) => ({ ...one, place: PLACE })) };
        const text = placedRowsSql(sql, { relations: relations(placed), wanted });
        const found = await connection.texts(text);
        const parts = present(plan.tables[0]).parts;
        return { ...placedRowsOf(found, { wanted: rows, parts }), looked };
      }
      const sql = await connection.deserialize(documentOf());
      const text = probedRowsSql(sql, { relations: relations(plan), wanted });
      return { ...probedRowsOf(await connection.texts(text)), looked };
    } catch (error) {
      signal.throwIfAborted();
      // The statement itself tells what is wrong with it.
      if (error instanceof EngineFault) return undefined;
      throw error;
    }
  };
}

/** The column of places; no column of a table is called so. */
const PLACE = "#place";
/** Where more rows are is not asked: they would hardly be read one by one. */
const PLACED_ROWS_MAX = 1_000;

/** Whether all that is read are the data files themselves, or rows out of their pages. */
function isPlaced({ parts }: TablePlan): boolean {
  return parts.every((part) =>
    part.origin === "file" && (part.source.kind === "file" || part.source.kind === "rows")
  );
}

/** Files are in order where a unit is cut: the time of a part's last wanted row is at its end. */
function edgeFinder(
  table: TablePlan,
  { wanted: { direction }, deps }: Pick<Trying, "wanted" | "deps">,
): NearestDeps["edge"] {
  const columns = projectedOf(table, new Set(["timestamp"]));
  const [timestamp] = columns;
  return async (part) => {
    if (part.origin !== "file" || timestamp === undefined) return undefined;
    const { first, end } = part.range ?? { first: 0, end: part.rows };
    const rowNumbers = Uint32Array.of(direction === "newest" ? first : end - 1);
    try {
      const read = await readPartRows(
        { part: { ...part, rowNumbers }, columns, condition: ALL },
        { lease: deps, pays: () => true },
      );
      const time = read?.values.get(timestamp.id)?.[0];
      return typeof time === "bigint" ? time : undefined;
    } catch {
      deps.signal.throwIfAborted();
      // Whoever scans the file tells what is wrong with it.
      return undefined;
    }
  };
}

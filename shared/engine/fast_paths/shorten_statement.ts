/**
 * The phase that chooses what answers a statement: summaries of data files, or a scan of rows and
 * why.
 */

import type { EngineConnection } from "../duckdb/driver.ts";
import type { Rewritten } from "../plan/rewrite_statement.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { QueryRequest } from "../types.ts";
import type { ColumnCounts } from "../types.ts";
import { untilAborted } from "../../base/until_aborted.ts";
import type { TablePlan } from "../plan/plan.ts";
import { columnCounts } from "./column_counts.ts";
import type { EdgeTimes } from "./edge_times.ts";
import { type FastPath, fastPath } from "./fast_path.ts";
import type { TableAnswers } from "./table_answers.ts";

export interface Shortened extends Rewritten {
  readonly path: ChosenPath;
  /** What the request asked to be counted; undefined: it did not, or no summary counts it. */
  readonly columnCounts: ColumnCounts | undefined;
  /** Whether its plan lacks rows of the WAL that were just counted, and no fast path counts. */
  readonly lacksRows: boolean;
}

/** What answers: rows that are scanned, or counts of data files and rows where there are none. */
export type ChosenPath =
  | {
    readonly kind: "scan";
    /** Why no fast path answers. */
    readonly aside: string;
  }
  | {
    readonly kind: "summaries";
    /** Its lease is among the statement's. */
    readonly fast: FastPath;
  };

/** Reads summaries of data files. Errors: the deadline's, the store's. */
export async function shortenStatement(
  rewritten: Rewritten,
  { connection, cached, request, deps, deadline }: {
    readonly connection: EngineConnection;
    /** `connection` behind the cache of statements. */
    readonly cached: CachedConnection;
    readonly request: QueryRequest;
    readonly deps: { readonly answers: TableAnswers; readonly edgeTimes: EdgeTimes };
    readonly deadline: Deadline;
  },
): Promise<Shortened> {
  const counted = await withoutCounted(rewritten, { request, answers: deps.answers, deadline });
  if (counted !== undefined) return counted;
  const { statement, references, tables, values, bounds, data, leases } = rewritten;
  // Summaries are of whole tables.
  const wantsRows = request.fastPaths === false ||
    tables.some(({ committed }) => committed.kind === "since");
  if (wantsRows) {
    return scanned(rewritten, "the request wants rows read");
  }
  if (rewritten.catalog.length > 0) return scanned(rewritten, "it reads PostgreSQL's catalog");
  const fast = await fastPath(statement.root, { references, tables, values }, {
    ...{ connection, cached, micros: bounds.micros, data },
    ...{ answers: deps.answers, times: deps.edgeTimes },
    isExact: request.isExact ?? true,
    planOnly: request.planOnly === true || statement.explain,
    signal: deadline.signal,
  });
  if ("aside" in fast) return scanned(rewritten, fast.aside);
  leases.use(fast.lease);
  return {
    ...rewritten,
    path: { kind: "summaries", fast },
    columnCounts: undefined,
    lacksRows: false,
  };
}

function scanned(rewritten: Rewritten, aside: string): Shortened {
  const lacksRows = rewritten.tables.some(({ counted = [] }) => counted.length > 0);
  return { ...rewritten, path: { kind: "scan", aside }, columnCounts: undefined, lacksRows };
}

/** The statement over rows of the WAL alone, where the request has the others counted. */
async function withoutCounted(
  rewritten: Rewritten,
  { request, answers, deadline }: {
    readonly request: QueryRequest;
    readonly answers: TableAnswers;
    readonly deadline: Deadline;
  },
): Promise<Shortened | undefined> {
  const [table, ...more] = rewritten.tables;
  if (request.columnCounts === undefined || table === undefined || more.length > 0) {
    return undefined;
  }
  const cubes = answers.table(table.version?.uuid ?? "", rewritten.data.store);
  const counting = columnCounts(table, cubes, request.columnCounts);
  const counts = await untilAborted(counting, deadline.signal);
  if (counts === undefined) return undefined;
  const uncommitted: TablePlan = {
    ...table,
    committed: { kind: "none" },
    files: [],
    considered: 0,
  };
  const aside = "summaries counted the other rows";
  return {
    ...rewritten,
    tables: [uncommitted],
    path: { kind: "scan", aside },
    columnCounts: counts,
    lacksRows: false,
  };
}

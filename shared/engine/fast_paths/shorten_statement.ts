/**
 * The phase that chooses what answers a statement: summaries of data files, or a scan of rows and
 * why.
 */

import type { EngineConnection } from "../duckdb/driver.ts";
import type { Rewritten } from "../plan/rewrite_statement.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { QueryRequest } from "../types.ts";
import type { EdgeTimes } from "./edge_times.ts";
import { type FastPath, fastPath } from "./fast_path.ts";
import type { TableAnswers } from "./table_answers.ts";

export interface Shortened extends Rewritten {
  readonly path: ChosenPath;
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
  { connection, request, deps, deadline }: {
    readonly connection: EngineConnection;
    readonly request: QueryRequest;
    readonly deps: { readonly answers: TableAnswers; readonly edgeTimes: EdgeTimes };
    readonly deadline: Deadline;
  },
): Promise<Shortened> {
  const { statement, references, tables, values, bounds, data, leases } = rewritten;
  // Summaries are of whole tables.
  const wantsRows = request.fastPaths === false ||
    tables.some(({ committed }) => committed.kind === "since");
  if (wantsRows) {
    return { ...rewritten, path: { kind: "scan", aside: "the request wants rows read" } };
  }
  const fast = await fastPath(statement.root, { references, tables, values }, {
    ...{ connection, micros: bounds.micros, data },
    ...{ answers: deps.answers, times: deps.edgeTimes },
    isExact: request.isExact ?? true,
    planOnly: request.planOnly === true || statement.explain,
    signal: deadline.signal,
  });
  if ("aside" in fast) return { ...rewritten, path: { kind: "scan", aside: fast.aside } };
  leases.use(fast.lease);
  return { ...rewritten, path: { kind: "summaries", fast } };
}

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
import type { StepAside } from "./step_aside.ts";
import type { TableAnswers } from "./table_answers.ts";

export interface Shortened extends Rewritten {
  /** Its lease is among `leases`. */
  readonly path: FastPath | StepAside;
}

/**
 * Reads summaries of data files, and asks DuckDB for constants. Errors: the deadline's, the store's.
 */
export async function shortenStatement(
  rewritten: Rewritten,
  { connection, request, deps, deadline }: {
    readonly connection: EngineConnection;
    readonly request: QueryRequest;
    readonly deps: { readonly answers: TableAnswers; readonly edgeTimes: EdgeTimes };
    readonly deadline: Deadline;
  },
): Promise<Shortened> {
  const { statement, references, tables, bounds, data, leases } = rewritten;
  // Summaries are of whole tables.
  const wantsRows = request.fastPaths === false ||
    tables.some(({ committed }) => committed.kind === "since");
  if (wantsRows) return { ...rewritten, path: { aside: "the request wants rows read" } };
  const path = await fastPath(statement.root, { references, tables }, {
    ...{ connection, micros: bounds.micros, data },
    ...{ answers: deps.answers, times: deps.edgeTimes },
    isExact: request.isExact ?? true,
    planOnly: request.planOnly === true || statement.explain,
    signal: deadline.signal,
  });
  if (!("aside" in path)) leases.use(path.lease);
  return { ...rewritten, path };
}

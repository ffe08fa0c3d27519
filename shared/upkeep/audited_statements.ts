/**
 * Statements that a table `query_audit` has of one day. It is best effort, like the audit itself. A
 * file that cannot be read is passed over, and a bounded number of rows of a day is read, the
 * newest files first.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../base/errors.ts";
import { narrowed, type RowObject, rowsOf } from "../columns/rows.ts";
import type { DataFile, Table } from "../iceberg/types.ts";
import { type FileRunDeps, readBatches } from "../tables/file_run.ts";

/** Statements as they were sent, and how often each was. */
export type StatementCounts = ReadonlyMap<string, number>;

const COLUMNS = ["tenant", "endpoint", "status", "query"];
/** Whose `query` is a statement that was run; a trace request's is its address. */
const ENDPOINTS: ReadonlySet<unknown> = new Set(["sql", "sql_local"]);
/** Longer ones are not looked at: what a dashboard sends is shorter. */
const STATEMENT_LENGTH_MAX = 16_384;

/** Whether it is one data file that cannot be read, now or ever, and not the store. */
export function isUnreadable(error: unknown): boolean {
  return isOperatingError(error, "corrupt") || isOperatingError(error, "unprocessable") ||
    isOperatingError(error, "not_found");
}

/**
 * By tenant. `files` are the day's; `rowsMax`: how many of their rows are read. Errors: the
 * store's; the signal's reason.
 */
export async function auditedStatements(
  deps: FileRunDeps,
  table: Table,
  { files, rowsMax, signal }: {
    readonly files: readonly DataFile[];
    readonly rowsMax: number;
    readonly signal: AbortSignal;
  },
): Promise<ReadonlyMap<string, StatementCounts>> {
  const byTenant = new Map<string, Map<string, number>>();
  let rows = 0;
  for (const file of files.toReversed()) {
    signal.throwIfAborted();
    if (rows >= rowsMax) break;
    try {
      for await (const batch of readBatches(deps, table, file)) {
        for (const row of rowsOf(narrowed(batch, COLUMNS)).slice(0, rowsMax - rows)) {
          count(byTenant, row);
        }
        rows += batch.rows;
        if (rows >= rowsMax) break;
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      getLogger(["svc", "maintenance"]).warn("{key} of query_audit is passed over: {error}", {
        key: file.key,
        error: messageOf(error),
      });
    }
  }
  return byTenant;
}

function count(
  byTenant: Map<string, Map<string, number>>,
  { tenant, endpoint, status, query }: RowObject,
): void {
  if (typeof tenant !== "string" || typeof query !== "string") return;
  if (!ENDPOINTS.has(endpoint) || status !== 200 || query.length > STATEMENT_LENGTH_MAX) return;
  const counts = byTenant.get(tenant) ?? new Map<string, number>();
  byTenant.set(tenant, counts);
  counts.set(query, (counts.get(query) ?? 0) + 1);
}

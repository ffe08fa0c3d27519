/**
 * What is known of a statement once its answer has ended: a row of `query_audit`,
 * docs/api/tables.md#query_audit.
 */

import type { Cost } from "../shared/engine/types.ts";
import type { Endpoint } from "./metrics/metrics.ts";
import type { QueryCaller } from "./query_caller.ts";
import type { SqlRequest } from "./sql/sql_request.ts";

/** One ended statement. Times are milliseconds, `startedMs` is Unix time. */
export interface QueryRecord {
  /** Wall clock at the request's arrival. */
  readonly startedMs: number;
  readonly durationMs: number;
  readonly caller: QueryCaller;
  readonly endpoint: Endpoint;
  /**
   * The literal statement, or a trace request's address. It may hold secrets and goes nowhere but
   * into the audit.
   */
  readonly query: string;
  /** Set for a SQL request; `pg`: PostgreSQL's protocol. */
  readonly format?: SqlRequest["format"] | "pg";
  readonly priority: SqlRequest["priority"];
  /** HTTP status. A stream that broke off has the one it would have had before its first byte. */
  readonly status: number;
  /** Absent when planning did not get that far. */
  readonly cost?: Cost;
  readonly rowsReturned?: number;
  readonly truncated: boolean;
  readonly error?: string;
  /** The client program, as it named itself to PostgreSQL's protocol. */
  readonly application?: string;
}

/** Takes records without ever making a caller wait. */
export interface QueryObserver {
  completed(record: QueryRecord): void;
}

/** What an engine does for statements that many servers share. */

import type { RowRange } from "../plan/plan.ts";
import type { NotSplit, SplitStatement } from "../spread/types.ts";
import type { Cost, PlannedTable, PreparedQuery, QueryRequest } from "../types.ts";
import type { ReceivedRows } from "./received_rows.ts";
import type { FrozenTables } from "./shard.ts";

export interface SpreadingEngine {
  /** Plans a statement that many servers are to share. Errors: those of `Engine.prepare`. */
  spread(request: QueryRequest): Promise<Spread | NotShared>;
  /** Room for the rows that they send. Errors: `unavailable`. */
  receive(): Promise<ReceivedRows>;
}

/** Why a statement runs on one server. */
export interface NotShared extends NotSplit {
  /** The statement, ready to run here, where that was found out after it was planned. */
  readonly alone?: PreparedQuery;
}

/** A statement as many servers run it. Disposing it gives back what it holds of the tables. */
export interface Spread extends Disposable {
  readonly split: SplitStatement;
  /** Snapshots and schemas of its tables, which other servers read. */
  readonly pin: string;
  /** These tables for this server, with their rows in the WAL. */
  readonly frozen: FrozenTables;
  readonly hasWalRows: boolean;
  readonly files: readonly SpreadFile[];
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  readonly defaultOrderApplied: boolean;
  readonly planMs: number;
}

/** A data file that is left of the table that is cut. */
export interface SpreadFile {
  readonly key: string;
  /** Bytes of the wanted columns. */
  readonly bytes: number;
  readonly rows: number;
  /** Rows of its row groups, in their order; empty where it cannot be cut. */
  readonly groups: readonly RowRange[];
}

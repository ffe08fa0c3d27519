/** A statement that was prepared, with all that it needs to run. */

import type { TableName } from "./bind/table_names.ts";
import type { DescribedColumn } from "./duckdb/driver.ts";
import type { FastPath } from "./fast_paths/fast_path.ts";
import type { DataFileLease } from "./files/data_files.ts";
import type { HeldLease } from "./held_rows/held_rows.ts";
import type { BandRequest } from "./order/ordered_bands.ts";
import type { Plan } from "./plan/plan.ts";
import type { NearestTrial } from "./pruning/narrow_nearest.ts";
import type { Statement } from "./statement/parse.ts";
import type { Cost, ScanOrdering, ServedBy } from "./types.ts";

export interface Prepared {
  /** As it was sent, for messages; its tree is that of what runs. */
  readonly statement: Statement;
  /** The text that runs. */
  readonly text: string;
  /** The tables that `text` names. */
  readonly names: readonly TableName[];
  readonly plan: Plan;
  readonly path: AnswerPath;
  /** Whether there is anything to measure, or to wait for. */
  readonly isMeasured: boolean;
  readonly columns: readonly DescribedColumn[];
  readonly cost: Cost;
  readonly ordering: ScanOrdering;
  readonly defaultOrderApplied: boolean;
  /** For a request that gave one: the pin that `Stats.snapshot` tells. */
  readonly pin: string | undefined;
  readonly data: DataFileLease;
  /** What it holds until it has ended; `data` is among it. */
  readonly leases: DisposableStack;
  readonly planMs: number;
  readonly deltaMs: number;
}

/** What answers. */
export type AnswerPath = Scan | Summaries;

/** Rows are read. */
export interface Scan {
  readonly kind: "scan";
  /** Why no fast path answers. */
  readonly aside: string;
  /** What the connection that runs it is asked before; undefined: nothing. */
  readonly trial: NearestTrial | undefined;
  /** How it goes through its table in steps; undefined: at once. */
  readonly bands: BandRequest | undefined;
  /** For rows that are in memory. */
  readonly held: HeldLease;
}

/** Counts of data files, and rows where there are none. */
export interface Summaries {
  readonly kind: "summaries";
  readonly fast: FastPath;
}

/** Who answers, in the words of `Stats`. */
export function servedBy(path: AnswerPath): ServedBy {
  return path.kind === "scan" ? "scan" : path.fast.servedBy;
}

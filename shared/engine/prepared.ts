/** A statement that was prepared, with all that it needs to run. */

import type { Described } from "./bind/describe_statement.ts";
import type { TableName } from "./bind/table_names.ts";
import { isDear } from "./cost/cost.ts";
import type { DescribedColumn } from "./duckdb/driver.ts";
import type { ChosenPath } from "./fast_paths/shorten_statement.ts";
import type { DataFileLease } from "./files/data_files.ts";
import type { RunningText } from "./functions/exchange_statement.ts";
import { SMALL_SCAN_BYTES_MAX, SMALL_SCAN_ROWS_MAX } from "./limits.ts";
import { type BandRequest, bandRequest } from "./order/ordered_bands.ts";
import type { Plan } from "./plan/plan.ts";
import type { LeftAttribute } from "./plan/promoted_attributes.ts";
import type { MadeRelation } from "./pg_catalog/relations.ts";
import type { NearestTrial } from "./pruning/narrow_nearest.ts";
import type { Statement } from "./statement/parse.ts";
import {
  type FirstSubqueries,
  type PlannedSubqueries,
  plannedSubqueries,
} from "./subqueries/first_subqueries.ts";
import { readsNothing } from "./statement/reads_nothing.ts";
import type { ColumnCounts, Cost, ScanOrdering, ServedBy } from "./types.ts";

export interface Prepared {
  /** The statement as it was sent, for messages; its tree is that of what runs. */
  readonly statement: Statement;
  /** Gives the text that runs. Errors: DuckDB's. */
  readonly text: RunningText;
  /** The tables that `text` names. */
  readonly names: readonly TableName[];
  /** The relations of PostgreSQL's catalog that `text` names. */
  readonly made: readonly MadeRelation[];
  readonly plan: Plan;
  readonly path: AnswerPath;
  /** Attributes that are looked up in JSON wherever they are, and why. */
  readonly left: readonly LeftAttribute[];
  /** Whether there is anything to measure, or to wait for. */
  readonly isMeasured: boolean;
  /** Whether it is a small scan of one table: measuring it takes longer than it is worth. */
  readonly isSmall: boolean;
  readonly columns: readonly DescribedColumn[];
  readonly cost: Cost;
  readonly ordering: ScanOrdering;
  readonly defaultOrderApplied: boolean;
  readonly columnCounts: ColumnCounts | undefined;
  /** For a request that gave one: the pin that `Stats.snapshot` tells. */
  readonly pin: string | undefined;
  readonly data: DataFileLease;
  /** What it holds until it has ended; `data` is among it. */
  readonly leases: DisposableStack;
  readonly planMs: number;
  readonly deltaMs: number;
  /** Subqueries that may be run before it; undefined: none. */
  readonly first: PlannedSubqueries | undefined;
}

/** What answers, with what a scan takes to run. */
export type AnswerPath =
  | Extract<ChosenPath, { readonly kind: "summaries" }>
  | Extract<ChosenPath, { readonly kind: "scan" }> & ScanSteps;

/** What happens to a scan before its first row. */
export interface ScanSteps {
  /** What the connection that runs it is asked before; undefined: nothing. */
  readonly trial: NearestTrial | undefined;
  /** How it goes through its table in steps; undefined: at once. */
  readonly bands: BandRequest | undefined;
}

/** The last phase: takes over the leases. It comes after all that changes the tree. */
export function preparedOf(
  described: Described,
  { tookMs, first }: {
    readonly tookMs: number;
    readonly first: FirstSubqueries | undefined;
  },
): Prepared {
  const { statement, names, made, tables, path, text, columns, cost, data, deltaMs, pin, left } =
    described;
  const { ordering, defaultOrderApplied, columnCounts, wanted, trial, leases } = described;
  const { root } = statement;
  const answers: AnswerPath = path.kind === "summaries" ? path : {
    ...path,
    trial,
    bands: wanted === undefined ? undefined : bandRequest(root),
  };
  return {
    ...{
      statement,
      text,
      names,
      made,
      plan: { tables },
      path: answers,
      left,
      columns,
      cost,
      ordering,
    },
    isMeasured: path.kind === "scan" ? !readsNothing(root) : path.fast.parts.length > 0,
    // What generates rows without bound is dear.
    isSmall: path.kind === "scan" && !statement.analyze && wanted !== undefined && !isDear(cost) &&
      cost.estimated_rows_processed <= SMALL_SCAN_ROWS_MAX &&
      cost.estimated_bytes_scanned <= SMALL_SCAN_BYTES_MAX,
    ...{ defaultOrderApplied, columnCounts, pin, data, deltaMs },
    planMs: tookMs - deltaMs,
    first: first && path.kind === "scan" ? plannedSubqueries(first, described) : undefined,
    leases: leases.move(),
  };
}

/** Who answers, in the words of `Stats`. */
export function servedBy(path: AnswerPath): ServedBy {
  return path.kind === "scan" ? "scan" : path.fast.servedBy;
}

/**
 * Stops a statement that takes more rows than allowed while it runs, whatever it was priced at.
 *
 * DuckDB counts what its pipelines take from files and from what earlier steps made (groups,
 * distinct rows, hash tables). It counts in blocks, and by its own guess of a step's size. It does
 * not count rows that one step makes and consumes at once, such as a product under `count(*)`. They
 * are in the price (`shared/engine/cost/joined_rows.ts`), or the wall clock ends them. What a
 * recursion reads, and reads again, is not counted before it is over: then the profile of the run
 * tells. The planned scan was priced and allowed before, so it is left out. A plain GROUP BY over
 * all the rows allowed is not stopped for reading its groups.
 */

import { OperatingError } from "../../base/errors.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { EngineConnection, RunProfile } from "./driver.ts";

/** Rows that a statement may take. */
export interface RowsAllowed {
  /** `limits.max_rows_scanned`. */
  readonly rowsScannedMax: number;
  /** Rows that the plan said would be scanned. */
  readonly rowsPlanned: number;
}

export const MIDFLIGHT_ROWS_SCANNED = "midflight_rows_scanned_exceeded";

/** Has `deadline` end the statement with `too_large` when it takes more rows than allowed. */
export function breakOnRows(
  running: Pick<EngineConnection, "progress">,
  deadline: Deadline,
  { rowsScannedMax, rowsPlanned }: RowsAllowed,
): void {
  deadline.guard(() => {
    const { rows } = running.progress();
    return rows > rowsScannedMax + rowsPlanned ? rowsExceeded(rows, rowsScannedMax) : undefined;
  });
}

/**
 * Checks the rows that a run took from data files, once they are known. Rows of the answer may have
 * been taken twice: DuckDB sorts some by a few columns before it fetches the others. Errors: those
 * of `breakOnRows`.
 */
export function checkRowsScanned(
  profile: RunProfile | undefined,
  { rowsScannedMax, rowsMax }: {
    readonly rowsScannedMax: number | undefined;
    readonly rowsMax: number;
  },
): void {
  if (profile === undefined || rowsScannedMax === undefined) return;
  const { rowsScanned } = profile;
  if (rowsScanned > rowsScannedMax + rowsMax) throw rowsExceeded(rowsScanned, rowsScannedMax);
}

/** The error of `breakOnRows`. */
export function rowsExceeded(rowsScanned: number, rowsScannedMax: number): OperatingError {
  return new OperatingError(
    "too_large",
    `Cannot finish the query: it took ${rowsScanned} rows so far and limits.max_rows_scanned allows ` +
      `${rowsScannedMax}; narrow the time range or the join`,
    {
      reason: MIDFLIGHT_ROWS_SCANNED,
      details: { rows_scanned: rowsScanned, max_rows_scanned: rowsScannedMax },
    },
  );
}

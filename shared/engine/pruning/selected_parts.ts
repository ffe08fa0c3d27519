/**
 * The rows that an index leaves of a data file, in the form that DuckDB is given: parts of
 * neighbouring row groups. A part has the numbers of its rows where they are few. Pure.
 *
 * DuckDB decodes whole row groups, some 5 ms each; a part costs it 1 ms to plan. So a row group
 * that is left out is worth a part of its own. Row numbers are worth their text only where they
 * spare more than picking them costs: README.md has the figures.
 */

import { lowerBound } from "../../base/lower_bound.ts";
import type { RowSet } from "../../derived/rows/row_query.ts";
import { FEW_ROWS_MAX } from "../limits.ts";
import type { RowRange, ScanPart } from "../plan/plan.ts";
import { blocksOf, RANGES_MAX, runsOf } from "./row_blocks.ts";

/** Rows [firstRow, firstRow + rows) of a file. */
export interface RowGroupRows {
  readonly firstRow: number;
  readonly rows: number;
}

/** Parts to read, and how many row groups were left out. */
export interface SelectedParts {
  /** The parts in the order of the file; none when it has no row to read. */
  readonly parts: readonly ScanPart[];
  readonly rowGroupsPruned: number;
}

/**
 * Rows of one part are told in so many blocks at most. With more, all rows of the part are read.
 */
const BLOCKS_MAX = 1_000;
/**
 * Share of the rows that may be told. With more of them, evaluating a condition costs as much as
 * picking them.
 */
const SELECTED_SHARE_MAX = 1 / 4;
/**
 * Share of the rows that may be read of their pages (`files/few_rows/`), which has a price of its
 * own. A word of a small file is told as 256 of its 1,000 rows.
 */
const PAGED_SHARE_MAX = 1 / 2;

/**
 * How DuckDB evaluates a condition on the rows of a row group. It compares a column with values
 * while it decodes that column, and decodes the others where a row is left. `quick` is a LIKE.
 * `dear` are words and members of JSON objects, which take much longer than picking rows.
 */
export type Evaluation = "while decoding" | "quick" | "dear";

/** From what rows are selected: all of a file, its row groups, and what they are selected by. */
export interface SelectedOf {
  readonly whole: ScanPart;
  readonly groups: readonly RowGroupRows[];
  readonly evaluation: Evaluation;
}

/** The parts of a file that hold the rows of an index's answer. */
export function selectedParts(
  of: SelectedOf,
  rowSet: Extract<RowSet, { readonly kind: "rows" | "groups" }>,
): SelectedParts {
  const runs = rowSet.kind === "rows"
    ? runsOfRows(rowSet.rows, of.groups)
    : runsOfGroups(rowSet, of.groups);
  const read = runs.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return {
    parts: runs.map((run) => partOf(of, run)),
    rowGroupsPruned: of.groups.length - read,
  };
}

/**
 * What of a part lies in `range`. Undefined when nothing does. The caller counts anew which row
 * groups it touches.
 */
export function clipped(part: ScanPart, range: RowRange): ScanPart | undefined {
  const own = part.range ?? { first: 0, end: part.rows };
  const first = Math.max(own.first, range.first);
  const end = Math.min(own.end, range.end);
  if (first >= end) return undefined;
  if (first === own.first && end === own.end) return part;
  const { rowNumbers } = part;
  if (rowNumbers === undefined) return { ...part, range: { first, end } };
  return onlyRows({ ...part, range: { first, end } }, rowNumbers);
}

/** A part with just the rows that are among `numbers`, ascending; undefined without one. */
export function onlyRows(part: ScanPart, numbers: Uint32Array): ScanPart | undefined {
  const { first, end } = part.range ?? { first: 0, end: part.rows };
  const from = lowerBound(numbers, first);
  const rows = numbers.subarray(from, lowerBound(numbers, end, from));
  if (rows.length === 0) return undefined;
  return { ...part, range: { first, end }, rowNumbers: rows };
}

/** Neighbouring row groups [first, last], and which of their rows are read. Undefined: all. */
interface Run {
  readonly first: number;
  readonly last: number;
  readonly rows: Uint32Array | undefined;
}

function partOf({ whole, groups, evaluation }: SelectedOf, run: Run): ScanPart {
  const start = groups[run.first]?.firstRow ?? 0;
  const lastGroup = groups[run.last];
  const end = lastGroup === undefined ? whole.rows : lastGroup.firstRow + lastGroup.rows;
  const rowGroupsRead = run.last - run.first + 1;
  const { rows } = run;
  if (rows !== undefined) {
    const range = { first: start, end };
    const share = rows.length / (end - start);
    const isFew = share <= SELECTED_SHARE_MAX;
    const isTold = isFew && isSoonPicked(rows, { range, evaluation });
    const isPaged = share <= PAGED_SHARE_MAX && rows.length <= FEW_ROWS_MAX;
    if (isTold || isPaged || isFew && evaluation === "while decoding") {
      return { ...whole, range, rowNumbers: rows, isTold, rowGroupsRead };
    }
  }
  if (start === 0 && end === whole.rows) return whole;
  return { ...whole, range: { first: start, end }, rowGroupsRead };
}

function isSoonPicked(
  rows: Uint32Array,
  { range, evaluation }: { readonly range: RowRange; readonly evaluation: Evaluation },
): boolean {
  // Picking rows and keeping the condition out of the scan takes longer: 12 ms instead of 9 for 50
  // spans of a trace, all columns.
  if (evaluation === "while decoding") return false;
  const runs = runsOf(rows);
  if (runs.length <= RANGES_MAX) return true;
  return evaluation === "dear" && blocksOf(runs, range).numbers.length <= BLOCKS_MAX;
}

/** The row groups that hold `rows`, in runs, each with its own rows. */
function runsOfRows(rows: Uint32Array, groups: readonly RowGroupRows[]): Run[] {
  const touched: number[] = [];
  const starts: number[] = [];
  let at = 0;
  groups.forEach(({ firstRow, rows: count }, group) => {
    const from = at;
    at = lowerBound(rows, firstRow + count, from);
    if (at === from) return;
    touched.push(group);
    starts.push(from);
  });
  let next = 0;
  return runsOf(Uint32Array.from(touched)).map(({ first, last }) => {
    const from = starts[next] ?? 0;
    next += last - first + 1;
    return { first, last, rows: rows.subarray(from, starts[next] ?? rows.length) };
  });
}

/** Runs of the row groups with rows of an answer's groups. All of a run is read. */
function runsOfGroups(
  { groups: answered, groupRows }: Extract<RowSet, { readonly kind: "groups" }>,
  groups: readonly RowGroupRows[],
): Run[] {
  const touched = groups.flatMap(({ firstRow, rows }, group) => {
    const at = lowerBound(answered, Math.floor(firstRow / groupRows));
    const next = answered[at];
    return next !== undefined && next * groupRows < firstRow + rows ? [group] : [];
  });
  return runsOf(Uint32Array.from(touched)).map((run) => ({ ...run, rows: undefined }));
}

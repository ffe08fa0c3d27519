/**
 * Runs an ordered scan in steps: bands of files that follow each other in time, the wanted ones
 * first. All rows of one band come before all rows of the next.
 *
 * The statement runs over one band after the other until it has its rows. So the first rows go out
 * before the last file is opened, files beyond the last row are not opened at all, and a sort holds
 * one band.
 *
 * It applies where each row is kept or dropped by itself, steadily (`pruning/steady.ts`), and the
 * order is that of time. It relies on the bounds of files, and of the row groups that an ordered
 * scan chose of them; what overlaps is in one band.
 *
 * Each band has at least four times as many rows as the one before. A band is a statement of its
 * own, which costs as much as decoding some 10,000 rows.
 */

import { orderedRequest } from "./ordered_scan.ts";
import { type Plan, rowsOfParts, type ScanPart, type TablePlan } from "../plan/plan.ts";
import { isSteady } from "../pruning/steady.ts";
import {
  integerConstant,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";

/** What a statement that can run in bands wants. */
export interface BandRequest {
  readonly direction: "newest" | "oldest";
  /** Rows of its LIMIT; undefined: all rows. */
  readonly rows: number | undefined;
}

/** The plans that a statement is run over, one after the other, until it has `rowsMax` rows. */
export interface Steps {
  readonly plans: readonly [Plan, ...Plan[]];
  readonly rowsMax: number;
}

/** Rows of the first band, or fewer by `ROWS_PER_WANTED`. */
const BAND_ROWS_MIN = 32_768;
/**
 * Rows of the first band for each wanted row, where all that lie in the time range count. Most rows
 * of a row group that the range cuts do.
 */
const ROWS_PER_WANTED = 8;
const GROWTH = 4;
/** Rows past which a band need not grow. */
const BAND_ROWS_MAX = 4_194_304;

/**
 * Returns `plan` in bands of its one table, where the statement asks for that; else the plan as its
 * only step.
 */
export function stepsOf(
  plan: Plan,
  request: BandRequest | undefined,
): Steps {
  const [table] = plan.tables;
  if (request === undefined || table === undefined) return { plans: [plan], rowsMax: Infinity };
  const [first = [], ...later] = bandsOf(table, request);
  const of = (parts: readonly ScanPart[]) => ({ ...plan, tables: [{ ...table, parts }] });
  return { plans: [of(first), ...later.map(of)], rowsMax: request.rows ?? Infinity };
}

/** Returns what a statement over one table wants in bands; undefined: it cannot be run in steps. */
export function bandRequest(root: TreeNode): BandRequest | undefined {
  const { direction } = orderedRequest(root);
  const table = nodeAt(root, "from_table");
  const where = nodeAt(root, "where_clause");
  if (direction === undefined || table === undefined) return undefined;
  const clockLower = direction === "newest";
  if (where !== undefined && !isSteady(where, table, { clockLower })) return undefined;
  const limit = nodesAt(root, "modifiers").find((one) => textAt(one, "type") === "LIMIT_MODIFIER");
  if (limit === undefined) return { direction, rows: undefined };
  const rows = integerConstant(nodeAt(limit, "limit") ?? {});
  if (rows === undefined || rows < 0n || nodeAt(limit, "offset") !== undefined) return undefined;
  return { direction, rows: Number(rows) };
}

/**
 * Returns the parts of `table` in bands. There is one band when the times of a part are not known.
 */
function bandsOf(
  table: TablePlan,
  { direction, rows }: BandRequest,
): readonly (readonly ScanPart[])[] {
  const timed = table.parts.flatMap((part): TimedPart[] => {
    const { timestampNsMin: min, timestampNsMax: max } = part.times;
    if (min === undefined || max === undefined) return [];
    // The sign makes the smaller value the one that is wanted first.
    return direction === "newest"
      ? [{ part, near: -floorMicros(max), far: -floorMicros(min) }]
      : [{ part, near: floorMicros(min), far: floorMicros(max) }];
  });
  if (timed.length < table.parts.length) return [table.parts];
  // Where no filter drops rows, a few rows are enough.
  const rowsMin = table.ordered && rows !== undefined ? ROWS_PER_WANTED * rows : BAND_ROWS_MIN;
  return grown(apart(timed), Math.min(rowsMin, BAND_ROWS_MIN));
}

interface TimedPart {
  readonly part: ScanPart;
  readonly near: bigint;
  readonly far: bigint;
}

/** Returns the smallest groups of parts that do not overlap. */
function apart(timed: readonly TimedPart[]): ScanPart[][] {
  const groups: ScanPart[][] = [];
  let far: bigint | undefined;
  for (const one of timed.toSorted((a, b) => a.near < b.near ? -1 : a.near > b.near ? 1 : 0)) {
    const last = groups.at(-1);
    if (last !== undefined && far !== undefined && one.near <= far) last.push(one.part);
    else groups.push([one.part]);
    if (far === undefined || one.far > far) far = one.far;
  }
  return groups;
}

function grown(groups: readonly ScanPart[][], firstRowsMin: number): ScanPart[][] {
  const bands: ScanPart[][] = [];
  let rowsMin = firstRowsMin;
  let rows = 0;
  for (const group of groups) {
    const last = bands.at(-1);
    if (last !== undefined && rows < rowsMin) last.push(...group);
    else {
      if (last !== undefined) rowsMin = Math.min(GROWTH * rows, BAND_ROWS_MAX);
      rows = 0;
      bands.push([...group]);
    }
    rows += rowsOfParts(group);
  }
  return bands;
}

function floorMicros(ns: bigint): bigint {
  return ns >= 0n ? ns / 1_000n : (ns - 999n) / 1_000n;
}

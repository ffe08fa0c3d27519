/**
 * Answers newest-N and oldest-N without reading the table: it picks the few row groups that can
 * hold the answer.
 *
 * It applies to one SELECT over one table, ordered by `timestamp` (then `timestamp_ns`, same
 * direction), with a constant LIMIT. The WHERE has only bounds on the time columns.
 *
 * Row groups outside the time range are left out. For newest-first, the row groups that lie wholly
 * inside it are taken by their smallest timestamp, largest first, until they hold N rows. The last
 * of those minima is a threshold that at least N rows reach. So a row group whose largest timestamp
 * is below it cannot matter. Ties are kept: a row group that just reaches the threshold is read.
 *
 * In a file whose order is declared, the answer takes at most the last N rows of its part below the
 * upper bound's row groups. Rows that are newer than all of that part count against N. The
 * statement itself, its bounds, order and limit still run over what is left.
 *
 * It relies on this: `timestamp` is required (no nulls), a file's declared order is true, and the
 * bounds in footers are true.
 */

import { present } from "../../base/assert.ts";
import { isOperatingError } from "../../base/errors.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { ParquetFooter, RowGroup } from "../../parquet/footer.ts";
import { isBareSelect } from "./default_order.ts";
import type { DataFileLease } from "../files/data_files.ts";
import { FOOTER_READS_MAX, ORDERED_ROWS_MAX } from "../limits.ts";
import {
  deltaPart,
  filePart,
  meets,
  type RowRange,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import {
  compareTimes,
  isInside,
  nearestUnits,
  type OrderedRequest,
  type TimedUnit,
  unitTimes,
} from "./nearest_units.ts";
import { isSteady } from "../pruning/steady.ts";
import { rowsWithin } from "./rows_within.ts";
import {
  integerConstant,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { onlyTimeBounds, timeColumn } from "../bounds/time_bounds.ts";
import type { ScanOrdering } from "../types.ts";

/**
 * A scan that does not stream in order: why, and which rows are wanted first where that is known.
 */
export interface OrderRefusal {
  readonly ordering: ScanOrdering;
  readonly direction?: OrderedRequest["direction"];
  /**
   * Rows wanted of a `filtered` statement whose filter can be tried out beforehand
   * (`pruning/nearest_rows.ts`).
   */
  readonly rows?: number;
}

/** Returns what the statement asks for in order, or why the scan does not stream in order. */
export function orderedRequest(root: TreeNode): OrderedRequest | OrderRefusal {
  const table = nodeAt(root, "from_table");
  const modifiers = nodesAt(root, "modifiers");
  const order = modifiers.find((modifier) => textAt(modifier, "type") === "ORDER_MODIFIER");
  if (table === undefined || order === undefined) return { ordering: "no_sort_order" };
  if (changesRows(root["select_list"])) return { ordering: "no_sort_order" };
  const withoutOrder = { ...root, modifiers: modifiers.filter((modifier) => modifier !== order) };
  if (!isBareSelect(withoutOrder) || nodeAt(root, "qualify") !== undefined) {
    return { ordering: "no_sort_order" };
  }
  const direction = directionOf(order, { root, table });
  if (direction !== "newest" && direction !== "oldest") return { ordering: direction };
  const where = nodeAt(root, "where_clause");
  const clockLower = direction === "newest";
  const rows = rowsOf(modifiers);
  if (where !== undefined && !onlyTimeBounds(where, table, { clockLower })) {
    const isTriable = rows !== undefined && rows <= ORDERED_ROWS_MAX &&
      isSteady(where, table, { clockLower });
    return { ordering: "filtered", direction, ...(isTriable ? { rows } : {}) };
  }
  return rows === undefined || rows > ORDERED_ROWS_MAX
    ? { ordering: "no_bounds", direction }
    : { direction, rows };
}

/**
 * Returns the plan's parts with the newest first. Where a filter keeps the scan from choosing row
 * groups, DuckDB still skips those that cannot beat the rows it has. So it should meet the wanted
 * rows early: the newest 100 rows of one host in 2 M take 230 ms instead of 1500 ms.
 */
export function newestFirst(plan: TablePlan): readonly ScanPart[] {
  const filesFirst = plan.parts.filter((part) => part.origin === "file").toReversed();
  return [...plan.parts.filter((part) => part.origin === "delta").toReversed(), ...filesFirst];
}

/** Whether the select list looks at other rows, or makes more or fewer rows of one. */
function changesRows(selectList: unknown): boolean {
  let found = false;
  walk(selectList, (node) => {
    const kind = textAt(node, "class");
    found ||= kind === "WINDOW" || kind === "SUBQUERY" ||
      (kind === "FUNCTION" && textAt(node, "function_name").toLowerCase() === "unnest");
  });
  return found;
}

function directionOf(
  order: TreeNode,
  { root, table }: { readonly root: TreeNode; readonly table: TreeNode },
): "newest" | "oldest" | ScanOrdering {
  const terms = nodesAt(order, "orders");
  const columns = terms.map((term) => timeColumn(nodeAt(term, "expression") ?? {}, table, true));
  if (columns[0] !== "timestamp") return "non_timestamp_sort";
  if (columns.length > 2 || (columns.length === 2 && columns[1] !== "timestamp_ns")) {
    return "unknown_sort_order";
  }
  // A select-list alias goes before a column of the same name.
  const aliases = nodesAt(root, "select_list").map((item) => textAt(item, "alias").toLowerCase());
  const bare = terms.some((term) =>
    (nodeAt(term, "expression")?.["column_names"] as unknown[] | undefined)?.length === 1
  );
  if (bare && (aliases.includes("timestamp") || aliases.includes("timestamp_ns"))) {
    return "non_identity_sort";
  }
  const directions = new Set(terms.map((term) => textAt(term, "type") === "DESCENDING"));
  if (directions.size !== 1) return "mixed_sort_direction";
  return directions.has(true) ? "newest" : "oldest";
}

/** Returns LIMIT + OFFSET when both are constants, else undefined. */
function rowsOf(modifiers: readonly TreeNode[]): number | undefined {
  const modifier = modifiers.find((candidate) => textAt(candidate, "type") === "LIMIT_MODIFIER");
  const limit = nodeAt(modifier ?? {}, "limit");
  const offset = nodeAt(modifier ?? {}, "offset");
  const limitRows = limit === undefined ? undefined : integerConstant(limit);
  const offsetRows = offset === undefined ? 0n : integerConstant(offset);
  if (limitRows === undefined || offsetRows === undefined) return undefined;
  return limitRows < 0n || offsetRows < 0n ? undefined : Number(limitRows + offsetRows);
}

/** Rows that are read or left out together. */
interface Unit extends TimedUnit {
  readonly firstRow: number;
  readonly source: Source;
  /** Set for a row group of a file of our writer. */
  readonly group?: RowGroup | undefined;
}

interface Source {
  readonly whole: ScanPart;
  /** Whether the rows of the file are in ascending order of time. */
  readonly sorted: boolean;
}

/**
 * How many data files an ordered scan merges at most, of one day and of all days. See
 * docs/api/command_line.md#options-of-the-servers.
 */
export interface FanIn {
  readonly partitionMax: number;
  readonly globalMax: number;
}

/** What an ordered scan takes from its surroundings. */
export interface OrderedDeps {
  readonly fanIn: FanIn;
  readonly lease: Pick<DataFileLease, "footer" | "open" | "path">;
}

/** What an ordered scan reads, and what is told of its order. */
export interface OrderedParts {
  /** The parts that hold every row the answer can need; undefined is the whole plan. */
  readonly parts?: readonly ScanPart[];
  readonly ordering: ScanOrdering;
}

/**
 * Narrows a plan. `ordering` tells why where it cannot:
 * - `no_bounds`: the times of a file are not known;
 * - `order_walk_failed`: a footer could not be read, and the scan itself will tell why if it cannot
 *   either;
 * - `fan_in` and `global_fan_in`: too many files hold rows of the answer to be taken part by part,
 *   so they are read whole, in one scan.
 *
 * Errors: `not_found` when a file is gone.
 */
export async function orderedParts(
  plan: TablePlan,
  request: OrderedRequest,
  deps: OrderedDeps,
): Promise<OrderedParts> {
  const files = plan.files.map((file) => fileUnit(file, plan, deps));
  if (files.some((unit) => unit === undefined)) return { ordering: "no_bounds" };
  const deltas: Unit[] = plan.delta.map((delta) => ({
    ...unitTimes(delta),
    rows: delta.rows,
    firstRow: 0,
    source: { whole: deltaPart(delta), sorted: false },
  }));
  const known = files.filter((unit) => unit !== undefined);
  const byFile = nearestUnits([...known, ...deltas], plan.range, request);
  // Footers are read only of files that the manifests' bounds leave.
  const neededDeltas = deltas.filter((unit) => byFile.has(unit));
  const units: Unit[] = [...neededDeltas];
  const wanted = plan.files.flatMap((file, i) => {
    const unit = files[i];
    return unit !== undefined && byFile.has(unit) ? [{ file, unit }] : [];
  });
  const tooMany = fanInRefusal(wanted.map(({ file }) => file), deps.fanIn);
  if (tooMany !== undefined) {
    const whole = [...wanted.map(({ unit }) => unit), ...neededDeltas];
    return { parts: whole.map(({ source }) => source.whole), ordering: tooMany };
  }
  try {
    for (let start = 0; start < wanted.length; start += FOOTER_READS_MAX) {
      const batch = wanted.slice(start, start + FOOTER_READS_MAX);
      const footers = await Promise.all(batch.map(({ file }) => deps.lease.footer(file)));
      batch.forEach(({ unit }, i) => units.push(...rowGroupUnits(unit, present(footers[i]))));
    }
  } catch (error) {
    if (!isOperatingError(error) || error.code === "not_found") throw error;
    return { ordering: "order_walk_failed" };
  }
  const possible = units.filter((unit) => mayHold(unit, plan.range));
  const near = [...nearestUnits(possible, plan.range, request)];
  const exact = nearestUnits(await cutToRange(near, plan, deps), plan.range, request);
  return { parts: partsOf([...exact], plan.range, request), ordering: "advertised" };
}

/** Units with just their rows of the range, where a row group's page of times tells these. */
async function cutToRange(
  units: readonly Unit[],
  { range, schema }: TablePlan,
  { lease }: OrderedDeps,
): Promise<Unit[]> {
  const timestamp = schema.columns.find(({ name }) => name === "timestamp");
  const cutUnit = async (unit: Unit): Promise<Unit | undefined> => {
    const { group, source } = unit;
    const { whole, sorted } = source;
    if (isInside(unit, range) || !sorted || whole.origin !== "file") return unit;
    if (group === undefined || timestamp === undefined) return unit;
    const within = await rowsWithin({ file: whole.file, group, range }, { timestamp, lease });
    if (within === undefined) return unit;
    return within.rows === 0 ? undefined : { ...within, firstRow: within.first, source };
  };
  const cut: Unit[] = [];
  for (let start = 0; start < units.length; start += FOOTER_READS_MAX) {
    const batch = units.slice(start, start + FOOTER_READS_MAX);
    cut.push(...(await Promise.all(batch.map(cutUnit))).filter((unit) => unit !== undefined));
  }
  return cut;
}

function fanInRefusal(files: readonly DataFile[], fanIn: FanIn): ScanOrdering | undefined {
  const byDay = Map.groupBy(files, (file) => file.day);
  if ([...byDay.values()].some((own) => own.length > fanIn.partitionMax)) return "fan_in";
  return files.length > fanIn.globalMax ? "global_fan_in" : undefined;
}

function fileUnit(file: DataFile, plan: TablePlan, deps: OrderedDeps): Unit | undefined {
  const { timestampNsMin, timestampNsMax } = file;
  if (timestampNsMin === undefined || timestampNsMax === undefined) return undefined;
  return {
    ...unitTimes({ timestampNsMin, timestampNsMax }),
    rows: file.rows,
    firstRow: 0,
    source: {
      whole: filePart(file, deps.lease.path(file)),
      sorted: plan.order.id !== 0 && file.sortOrderId === plan.order.id,
    },
  };
}

/** Returns a file's row groups, or the whole file where the footer has no bounds. */
function rowGroupUnits(file: Unit, footer: ParquetFooter): Unit[] {
  const units = footer.rowGroups.map((group): Unit | undefined =>
    group.timestampMin === undefined || group.timestampMax === undefined ? undefined : {
      min: group.timestampMin,
      max: group.timestampMax,
      rows: group.rows,
      firstRow: group.firstRow,
      source: file.source,
      ...(footer.isOwn && footer.rows === file.rows ? { group } : {}),
    }
  );
  return units.some((unit) => unit === undefined)
    ? [file]
    : units.filter((unit) => unit !== undefined);
}

function mayHold({ min, max }: Unit, range: TimeRange): boolean {
  return meets(range, min * 1_000n, max * 1_000n + 999n);
}

/**
 * Makes parts of units. Neighbouring row groups of a file become one part. In a sorted file, the
 * row groups that the time range cuts become another part. The others give at most N rows at their
 * near end, less those that come before.
 */
function partsOf(
  units: readonly Unit[],
  range: TimeRange,
  request: OrderedRequest,
): ScanPart[] {
  const bySource = new Map<Source, Unit[]>();
  for (const unit of units) {
    const own = bySource.get(unit.source) ?? [];
    own.push(unit);
    bySource.set(unit.source, own);
  }
  const certain = units.filter((unit) => isInside(unit, range));
  const parts: ScanPart[] = [];
  for (const [source, own] of bySource) {
    own.sort((a, b) => a.firstRow - b.firstRow);
    const inside = own.filter((unit) => isInside(unit, range));
    const cut = own.filter((unit) => !isInside(unit, range));
    // The nearest N rows come first only where all rows count. In a row group that the range cuts,
    // the nearest rows may lie outside the range.
    const runs = source.sorted
      ? [
        ...runsOf(inside).map((run) => {
          const before = rowsBefore(
            inside.filter((unit) => meetsRows(unit, run)),
            certain,
            request,
          );
          return nearest(run, { ...request, rows: request.rows - before });
        }),
        ...runsOf(cut),
      ]
      : runsOf(own);
    for (const run of runs) parts.push(partOf(source.whole, run, own));
  }
  return parts;
}

function runsOf(units: readonly Unit[]): RowRange[] {
  const runs: { first: number; end: number }[] = [];
  for (const unit of units) {
    const last = runs.at(-1);
    if (last !== undefined && last.end === unit.firstRow) last.end += unit.rows;
    else runs.push({ first: unit.firstRow, end: unit.firstRow + unit.rows });
  }
  return runs;
}

function meetsRows(unit: Unit, { first, end }: RowRange): boolean {
  return unit.firstRow < end && unit.firstRow + unit.rows > first;
}

/** How many rows of `certain`, which all count, come before every row of `run`. */
function rowsBefore(
  run: readonly Unit[],
  certain: readonly Unit[],
  { direction }: OrderedRequest,
): number {
  const isNewest = direction === "newest";
  const near = isNewest
    ? extreme(run.map(({ max }) => max), 1)
    : extreme(run.map(({ min }) => min), -1);
  return certain.reduce(
    (sum, { min, max, rows }) => (isNewest ? min > near : max < near) ? sum + rows : sum,
    0,
  );
}

function nearest({ first, end }: RowRange, { direction, rows }: OrderedRequest): RowRange {
  return direction === "newest"
    ? { first: Math.max(first, end - rows), end }
    : { first, end: Math.min(end, first + rows) };
}

function partOf(whole: ScanPart, range: RowRange, units: readonly Unit[]): ScanPart {
  if (range.first === 0 && range.end === whole.rows) return whole;
  const touched = units.filter((unit) => meetsRows(unit, range));
  const times = {
    timestampNsMin: extreme(touched.map(({ min }) => min), -1) * 1_000n,
    timestampNsMax: extreme(touched.map(({ max }) => max), 1) * 1_000n + 999n,
  };
  return { ...whole, range, rowGroupsRead: touched.length, times };
}

function extreme(times: readonly bigint[], sign: 1 | -1): bigint {
  return times.reduce((a, b) => sign * compareTimes(a, b) < 0 ? b : a);
}

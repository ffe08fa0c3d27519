/**
 * Tells which instants a statement can need of each table, so that whole files and segments are
 * left out.
 *
 * The ranges are sound, not complete: a row that could matter is always inside. Only top-level AND
 * conjuncts of the WHERE beside the table are read. They compare `timestamp` with a constant time
 * expression, or `timestamp_ns` with an integer. OR, NOT, other joins than INNER, LEFT and RIGHT,
 * samples and renamed columns leave the table unbounded. `time_constants.ts` evaluates the
 * constants.
 */

import { ALL_TIME, type TimeRange } from "../../iceberg/types.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import type { TableReference } from "../gate/gate.ts";
import {
  integerConstant,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { isConstantTime, microsOf, usesClock } from "./time_constants.ts";

/** A comparison of one of the time columns with a constant. */
interface Bound {
  readonly reference: TreeNode;
  readonly column: "timestamp" | "timestamp_ns";
  readonly operator: Operator;
  readonly constant: TreeNode;
}

type Operator = "=" | "<" | "<=" | ">" | ">=";

/** Ranges of time that a statement's conditions leave of its tables. */
export interface TimeBounds {
  /** Range of each table, by its name; `ALL_TIME` where no bound was found. */
  readonly ranges: ReadonlyMap<string, TimeRange>;
  /** Whether every bound that was found is in the ranges. */
  readonly complete: boolean;
  /**
   * Unix microseconds of the bounds' constants; undefined for a constant without a value. The clock
   * is read once for all of them.
   */
  readonly micros: ReadonlyMap<TreeNode, bigint | undefined>;
}

/**
 * Returns a range for each table name: the hull of its references' ranges. The statement begins
 * later than its bounds are evaluated, so a bound made from the clock only ever counts as a lower
 * one.
 */
export async function timeBounds(
  connection: CachedConnection,
  root: TreeNode,
  references: readonly TableReference[],
): Promise<TimeBounds> {
  const stored = new Set(references.map((reference) => reference.node));
  const bounds = boundsOf(root, stored);
  const times = bounds.filter((bound) => bound.column === "timestamp");
  const micros = await microsOf(connection, times.map((bound) => bound.constant));
  const evaluated = bounds.map((bound) => rangeWithin(bound, micros, { clockUpper: false }));
  const ranges = new Map<string, TimeRange>();
  for (const { table, node } of references) {
    const own = bounds.reduce(
      (range, bound, i) =>
        bound.reference === node ? intersect(range, evaluated[i] ?? ALL_TIME) : range,
      ALL_TIME,
    );
    const known = ranges.get(table);
    ranges.set(table, known === undefined ? own : hull(known, own));
  }
  return { ranges, complete: !evaluated.includes(undefined), micros };
}

function boundsOf(root: TreeNode, stored: ReadonlySet<TreeNode>): Bound[] {
  const bounds: Bound[] = [];
  walk(root, (node) => {
    const from = textAt(node, "type") === "SELECT_NODE" ? nodeAt(node, "from_table") : undefined;
    const where = nodeAt(node, "where_clause");
    // USING SAMPLE draws from the rows before WHERE: leaving some out would change the draw.
    if (from === undefined || where === undefined || nodeAt(node, "sample") !== undefined) return;
    const candidates = boundable(from);
    const alone = textAt(from, "type") === "BASE_TABLE";
    for (const reference of candidates) {
      if (!stored.has(reference)) continue;
      for (const conjunct of conjuncts(where)) {
        bounds.push(...boundsIn(conjunct, { reference, alone }));
      }
    }
  });
  return bounds;
}

/** Returns the tables of a FROM whose rows a WHERE beside it filters directly. */
function boundable(from: TreeNode): TreeNode[] {
  const type = textAt(from, "type");
  if (type === "BASE_TABLE") {
    const plain = listAt(from, "column_name_alias").length === 0 &&
      nodeAt(from, "sample") === undefined;
    return plain ? [from] : [];
  }
  if (type !== "JOIN" || nodeAt(from, "sample") !== undefined) return [];
  if (!["INNER", "LEFT", "RIGHT"].includes(textAt(from, "join_type"))) return [];
  if (!["REGULAR", "CROSS"].includes(textAt(from, "ref_type"))) return [];
  return [nodeAt(from, "left"), nodeAt(from, "right")]
    .flatMap((side) => side === undefined ? [] : boundable(side));
}

/** Returns the conditions that `where` is the AND of. */
export function conjuncts(where: TreeNode): readonly TreeNode[] {
  if (textAt(where, "type") !== "CONJUNCTION_AND") return [where];
  return nodesAt(where, "children").flatMap(conjuncts);
}

/**
 * Whether a WHERE over `table` alone is nothing but bounds, so that the rows inside the range are
 * the rows that satisfy it. A bound made from the clock comes out a little early; `clockLower`
 * allows that in a lower bound.
 */
export function onlyTimeBounds(
  where: TreeNode,
  table: TreeNode,
  { clockLower }: { readonly clockLower: boolean },
): boolean {
  return conjuncts(where).every((conjunct) => {
    const bounds = boundsIn(conjunct, { reference: table, alone: true });
    const parts = textAt(conjunct, "type") === "COMPARE_BETWEEN" ? 2 : 1;
    return bounds.length === parts &&
      bounds.every(({ constant, operator }) =>
        !usesClock(constant) || (clockLower && operator.startsWith(">"))
      );
  });
}

/**
 * Whether a conjunct is one or two bounds of `table`, which stands alone in FROM, and nothing else.
 */
export function isTimeBound(conjunct: TreeNode, table: TreeNode): boolean {
  return timeBoundColumns(conjunct, table) !== undefined;
}

/** The time columns that such a conjunct bounds; undefined for any other. */
export function timeBoundColumns(
  conjunct: TreeNode,
  table: TreeNode,
): readonly Bound["column"][] | undefined {
  const parts = textAt(conjunct, "type") === "COMPARE_BETWEEN" ? 2 : 1;
  const bounds = boundsIn(conjunct, { reference: table, alone: true });
  return bounds.length === parts ? bounds.map(({ column }) => column) : undefined;
}

/**
 * Returns the range of `bounds`, all of them `isTimeBound` of `table`, with the constants' values
 * as `timeBounds` found them. It is undefined when a constant has no value. The rows of the range
 * are those that satisfy the bounds.
 */
export function exactRange(
  bounds: readonly TreeNode[],
  { table, micros }: { readonly table: TreeNode } & Pick<TimeBounds, "micros">,
): TimeRange | undefined {
  const all = bounds.flatMap((bound) => boundsIn(bound, { reference: table, alone: true }));
  let range = ALL_TIME;
  for (const bound of all) {
    const one = rangeWithin(bound, micros, { clockUpper: true });
    if (one === undefined) return undefined;
    range = intersect(range, one);
  }
  return range;
}

interface Target {
  readonly reference: TreeNode;
  /** Whether the table is the only one in FROM, so that a bare column name is its own. */
  readonly alone: boolean;
}

function boundsIn(conjunct: TreeNode, target: Target): Bound[] {
  if (textAt(conjunct, "type") === "COMPARE_BETWEEN") {
    return [
      boundOf(target, nodeAt(conjunct, "input"), ">=", nodeAt(conjunct, "lower")),
      boundOf(target, nodeAt(conjunct, "input"), "<=", nodeAt(conjunct, "upper")),
    ].filter((bound) => bound !== undefined);
  }
  const operator = OPERATORS[textAt(conjunct, "type")];
  if (textAt(conjunct, "class") !== "COMPARISON" || operator === undefined) return [];
  const [left, right] = [nodeAt(conjunct, "left"), nodeAt(conjunct, "right")];
  const bound = boundOf(target, left, operator, right) ??
    boundOf(target, right, MIRRORED[operator], left);
  return bound === undefined ? [] : [bound];
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  COMPARE_EQUAL: "=",
  COMPARE_LESSTHAN: "<",
  COMPARE_LESSTHANOREQUALTO: "<=",
  COMPARE_GREATERTHAN: ">",
  COMPARE_GREATERTHANOREQUALTO: ">=",
};

const MIRRORED: Readonly<Record<Operator, Operator>> = {
  "=": "=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

function boundOf(
  { reference, alone }: Target,
  column: TreeNode | undefined,
  operator: Operator,
  constant: TreeNode | undefined,
): Bound | undefined {
  if (column === undefined || constant === undefined) return undefined;
  const name = timeColumn(column, reference, alone);
  if (name === undefined) return undefined;
  const usable = name === "timestamp"
    ? isConstantTime(constant)
    : integerConstant(constant) !== undefined;
  return usable ? { reference, column: name, operator, constant } : undefined;
}

/**
 * Returns the time column of `reference` that `node` names, or undefined. `alone`: the table is the
 * only one in FROM.
 */
export function timeColumn(
  node: TreeNode,
  reference: TreeNode,
  alone: boolean,
): "timestamp" | "timestamp_ns" | undefined {
  if (textAt(node, "class") !== "COLUMN_REF") return undefined;
  const names = listAt(node, "column_names").map((name) => String(name).toLowerCase());
  const [first, second] = names;
  const column = names.length === 1 && alone
    ? first
    : names.length === 2 && first === nameOf(reference)
    ? second
    : undefined;
  return column === "timestamp" || column === "timestamp_ns" ? column : undefined;
}

function nameOf(reference: TreeNode): string {
  return (textAt(reference, "alias") || textAt(reference, "table_name")).toLowerCase();
}

/** Returns the range of rows that satisfy a bound; undefined when its constant has no value. */
function rangeWithin(
  { column, operator, constant }: Bound,
  micros: TimeBounds["micros"],
  /** Whether a bound made from the clock counts as an upper one, too. */
  { clockUpper }: { readonly clockUpper: boolean },
): TimeRange | undefined {
  if (column === "timestamp_ns") {
    const ns = integerConstant(constant);
    return ns === undefined ? undefined : rangeOf(operator, ns, ns);
  }
  const value = micros.get(constant);
  if (value === undefined) return undefined;
  // A microsecond stands for its thousand nanoseconds.
  const range = rangeOf(operator, value * 1_000n, value * 1_000n + 999n);
  const isOpen = !clockUpper && usesClock(constant);
  return isOpen ? { minNs: range.minNs, maxNs: undefined } : range;
}

/**
 * Returns the range of rows that satisfy `column operator value`, when the value covers the
 * nanoseconds [first, last].
 */
function rangeOf(operator: Operator, first: bigint, last: bigint): TimeRange {
  switch (operator) {
    case "=":
      return { minNs: first, maxNs: last };
    case ">=":
      return { minNs: first, maxNs: undefined };
    case ">":
      return { minNs: last + 1n, maxNs: undefined };
    case "<=":
      return { minNs: undefined, maxNs: last };
    case "<":
      return { minNs: undefined, maxNs: first - 1n };
  }
}

function intersect(a: TimeRange, b: TimeRange): TimeRange {
  return { minNs: larger(a.minNs, b.minNs), maxNs: smaller(a.maxNs, b.maxNs) };
}

function larger(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}

function smaller(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

function hull(a: TimeRange, b: TimeRange): TimeRange {
  return {
    minNs: a.minNs === undefined || b.minNs === undefined
      ? undefined
      : (a.minNs < b.minNs ? a.minNs : b.minNs),
    maxNs: a.maxNs === undefined || b.maxNs === undefined
      ? undefined
      : (a.maxNs > b.maxNs ? a.maxNs : b.maxNs),
  };
}

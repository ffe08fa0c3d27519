/**
 * Which instants a statement can need of each table, so that whole files and segments are left out.
 *
 * Sound, not complete: a row that could matter is always inside. Only top-level AND conjuncts of the WHERE
 * that stands beside the table are read: comparisons of `timestamp` with a constant time expression and of
 * `timestamp_ns` with an integer. OR, NOT, other joins than INNER, LEFT and RIGHT, samples and renamed
 * columns leave the table unbounded. Constant expressions are evaluated by the SQL engine itself.
 */

import type { TimeRange } from "../iceberg/types.ts";
import { type ConstantsConnection, constantTexts } from "./constant_texts.ts";
import type { TableReference } from "./gate.ts";
import {
  integerConstant,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
} from "./syntax_tree.ts";

/** A comparison of one of the time columns with a constant. */
interface Bound {
  readonly reference: TreeNode;
  readonly column: "timestamp" | "timestamp_ns";
  readonly operator: Operator;
  readonly constant: TreeNode;
}

type Operator = "=" | "<" | "<=" | ">" | ">=";

export interface TimeBounds {
  /** By table name. */
  readonly ranges: ReadonlyMap<string, TimeRange>;
  /** Every bound that was found is in the ranges. */
  readonly complete: boolean;
}

/** What evaluates constants. */
export type BoundsConnection = ConstantsConnection;

export const EVERYTHING: TimeRange = { minNs: undefined, maxNs: undefined };

/**
 * A range per table name: the hull of its references' ranges. The statement begins later than its bounds are
 * evaluated, so a bound made from the clock only ever counts as a lower one.
 */
export async function timeBounds(
  connection: BoundsConnection,
  root: TreeNode,
  references: readonly TableReference[],
): Promise<TimeBounds> {
  const stored = new Set(references.map((reference) => reference.node));
  const bounds = boundsOf(root, stored);
  const evaluated = await evaluate(connection, bounds);
  const ranges = new Map<string, TimeRange>();
  for (const { table, node } of references) {
    const own = bounds.reduce(
      (range, bound, i) =>
        bound.reference === node ? intersect(range, evaluated[i] ?? EVERYTHING) : range,
      EVERYTHING,
    );
    const known = ranges.get(table);
    ranges.set(table, known === undefined ? own : hull(known, own));
  }
  return { ranges, complete: !evaluated.includes(undefined) };
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

/** Tables of a FROM whose rows a WHERE beside it filters directly. */
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

/** What a condition is the AND of. */
export function conjuncts(where: TreeNode): readonly TreeNode[] {
  if (textAt(where, "type") !== "CONJUNCTION_AND") return [where];
  return nodesAt(where, "children").flatMap(conjuncts);
}

/**
 * Whether a WHERE over `table` alone is nothing but bounds, so that the rows inside the range are the rows that
 * satisfy it. A bound made from the clock comes out a little early; `clockLower` says that lower ones may.
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

/** Whether a conjunct is one or two bounds of `table`, which stands alone in FROM, and nothing else. */
export function isTimeBound(conjunct: TreeNode, table: TreeNode): boolean {
  const parts = textAt(conjunct, "type") === "COMPARE_BETWEEN" ? 2 : 1;
  return boundsIn(conjunct, { reference: table, alone: true }).length === parts;
}

/**
 * What `bounds`, all of them `isTimeBound` of `table`, come to when the clock is read now; undefined when one has no
 * value. Rows of the range are those that satisfy the bounds.
 */
export async function exactRange(
  connection: BoundsConnection,
  bounds: readonly TreeNode[],
  table: TreeNode,
): Promise<TimeRange | undefined> {
  const all = bounds.flatMap((bound) => boundsIn(bound, { reference: table, alone: true }));
  const ranges = await evaluate(connection, all, { clockUpper: true });
  let range = EVERYTHING;
  for (const one of ranges) {
    if (one === undefined) return undefined;
    range = intersect(range, one);
  }
  return range;
}

interface Target {
  readonly reference: TreeNode;
  /** The table is the only one in FROM, so that a bare column name is its own. */
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

/** The time column of `reference` that `node` names, if it does. */
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

const TIME_TYPES: ReadonlySet<string> = new Set(["TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "DATE"]);

/** Whether an expression has the type of a time, and a value that no row changes. */
export function isConstantTime(node: TreeNode): boolean {
  switch (textAt(node, "class")) {
    case "CONSTANT":
      return TIME_TYPES.has(constantType(node)) || constantType(node) === "VARCHAR";
    case "CAST":
      return TIME_TYPES.has(textAt(nodeAt(node, "cast_type") ?? {}, "id")) && isConstant(node);
    case "FUNCTION":
      return TIME_FUNCTIONS.has(textAt(node, "function_name").toLowerCase()) && isConstant(node);
    default:
      return false;
  }
}

function constantType(node: TreeNode): string {
  return textAt(nodeAt(nodeAt(node, "value") ?? {}, "type") ?? {}, "id");
}

const CLOCK_FUNCTIONS: ReadonlySet<string> = new Set([
  "now",
  "get_current_timestamp",
  "transaction_timestamp",
  "today",
  "current_date",
]);

/** Functions whose result is a time, or `+` and `-`, which are only reached with one. */
const TIME_FUNCTIONS: ReadonlySet<string> = new Set([
  ...CLOCK_FUNCTIONS,
  "+",
  "-",
  "date_trunc",
  "make_timestamp",
  "make_timestamptz",
  "to_timestamp",
]);

/** What else may stand inside a constant. All of them grow with each time in them. */
const CONSTANT_FUNCTIONS: ReadonlySet<string> = new Set([
  ...TIME_FUNCTIONS,
  "to_days",
  "to_hours",
  "to_microseconds",
  "to_milliseconds",
  "to_minutes",
  "to_months",
  "to_seconds",
  "to_weeks",
  "to_years",
  "trunc",
]);

function isConstant(node: TreeNode): boolean {
  if (usesClock(node) && !growsWithClock(node)) return false;
  let constant = true;
  walk(node, (inner) => {
    const kind = textAt(inner, "class");
    if (kind === "FUNCTION") {
      constant &&= CONSTANT_FUNCTIONS.has(textAt(inner, "function_name").toLowerCase());
    } else if (kind !== "" && kind !== "CONSTANT" && kind !== "CAST") {
      constant = false;
    }
  });
  return constant;
}

/** Whether an expression can only become later as the clock goes on. */
function growsWithClock(node: TreeNode): boolean {
  if (!usesClock(node)) return true;
  const kind = textAt(node, "class");
  if (kind === "CONSTANT") return true;
  if (kind === "CAST") return growsWithClock(nodeAt(node, "child") ?? {});
  const name = textAt(node, "function_name").toLowerCase();
  const children = nodesAt(node, "children");
  if (CLOCK_FUNCTIONS.has(name)) return true;
  if (name === "-" && children[1] !== undefined && usesClock(children[1])) return false;
  return ["+", "-", "date_trunc"].includes(name) && children.every(growsWithClock);
}

function usesClock(node: TreeNode): boolean {
  let found = false;
  walk(node, (inner) => {
    if (textAt(inner, "class") === "FUNCTION") {
      found ||= CLOCK_FUNCTIONS.has(textAt(inner, "function_name").toLowerCase());
    } else if (textAt(inner, "class") === "CONSTANT" && constantType(inner) === "VARCHAR") {
      // 'now' and 'today' are texts that the engine reads from the clock.
      found ||= !/^\s*\d/.test(String(nodeAt(inner, "value")?.["value"]));
    }
  });
  return found;
}

async function evaluate(
  connection: BoundsConnection,
  bounds: readonly Bound[],
  /** Whether a bound made from the clock counts as an upper one, too. */
  { clockUpper }: { readonly clockUpper: boolean } = { clockUpper: false },
): Promise<(TimeRange | undefined)[]> {
  const times = bounds.filter((bound) => bound.column === "timestamp");
  const micros = await microsOf(connection, times.map((bound) => bound.constant));
  const microsByBound = new Map(times.map((bound, i) => [bound, micros[i]]));
  return bounds.map((bound) => {
    if (bound.column === "timestamp_ns") {
      const ns = integerConstant(bound.constant);
      return ns === undefined ? undefined : rangeOf(bound.operator, ns, ns);
    }
    const value = microsByBound.get(bound);
    if (value === undefined) return undefined;
    // A microsecond stands for its thousand nanoseconds.
    const range = rangeOf(bound.operator, value * 1_000n, value * 1_000n + 999n);
    const isOpen = !clockUpper && usesClock(bound.constant);
    return isOpen ? { minNs: range.minNs, maxNs: undefined } : range;
  });
}

/** Rows that satisfy `column operator value`, when the value covers the nanoseconds [first, last]. */
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

/** Unix microseconds of constant time expressions; undefined for one that has no finite value. */
async function microsOf(
  connection: BoundsConnection,
  constants: readonly TreeNode[],
): Promise<(bigint | undefined)[]> {
  const texts = await constantTexts(
    connection,
    constants,
    (name) => `epoch_us(TRY_CAST(${name} AS TIMESTAMPTZ))::VARCHAR`,
  );
  return texts.map((text) => text === null || text === undefined ? undefined : BigInt(text));
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

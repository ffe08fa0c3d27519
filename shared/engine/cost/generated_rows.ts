/**
 * Counts the rows that a statement makes out of nothing, for its price: `range` and
 * `generate_series` in FROM, and recursion. The count is a lower bound where it is not exact,
 * because what stands in a correlated subquery runs more than once. `joined_rows.ts` counts what
 * joins make of them.
 */

import {
  integerConstant,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";

/** Rows that a statement makes out of nothing. */
export interface GeneratedRows {
  readonly rows: number;
  /** What could not be counted before the statement runs, in words for the caller. */
  readonly unknown: readonly string[];
}

/** Counts the rows that the statement below `root` makes out of nothing. Pure. */
export function generatedRows(root: TreeNode): GeneratedRows {
  let rows = 0;
  const unknown = new Set<string>();
  walk(root, (node) => {
    const type = textAt(node, "type");
    if (type === "RECURSIVE_CTE_NODE") unknown.add("WITH RECURSIVE");
    const call = rangeCallOf(node);
    if (call === undefined) return;
    if (call.rows === undefined) unknown.add(call.name);
    else rows += call.rows;
  });
  return {
    rows,
    unknown: [...unknown].map((what) => `${what}: how many rows it makes is known when it runs`),
  };
}

/**
 * Returns the name and the rows of a FROM item that is `range` or `generate_series`; undefined for
 * any other node. The rows are undefined where they are computed.
 */
export function rangeCallOf(
  node: TreeNode,
): { readonly name: string; readonly rows: number | undefined } | undefined {
  if (textAt(node, "type") !== "TABLE_FUNCTION") return undefined;
  const call = nodeAt(node, "function") ?? {};
  const name = textAt(call, "function_name").toLowerCase();
  if (name !== "range" && name !== "generate_series") return undefined;
  const inclusive = name === "generate_series";
  return { name, rows: countOf(nodesAt(call, "children"), { inclusive }) };
}

/**
 * Counts the rows of `(stop)`, `(start, stop)` or `(start, stop, step)` of integers; undefined for
 * anything else.
 */
function countOf(
  args: readonly TreeNode[],
  { inclusive }: { readonly inclusive: boolean },
): number | undefined {
  const values = args.map(integerOf);
  const [first, second] = values;
  const [start, stop] = args.length === 1 ? [0n, first] : [first, second];
  const step = args.length === 3 ? values[2] : 1n;
  if (start === undefined || stop === undefined || step === undefined || step === 0n) {
    return undefined;
  }
  const span = step > 0n ? stop - start : start - stop;
  const size = step > 0n ? step : -step;
  const count = inclusive ? span / size + 1n : (span + size - 1n) / size;
  return span < 0n ? 0 : Number(count);
}

/**
 * Returns an integer constant, perhaps with a minus sign before it; undefined for anything else.
 */
function integerOf(node: TreeNode): bigint | undefined {
  const [operand] = nodesAt(node, "children");
  if (textAt(node, "function_name") !== "-" || operand === undefined) return integerConstant(node);
  const value = nodesAt(node, "children").length === 1 ? integerConstant(operand) : undefined;
  return value === undefined ? undefined : -value;
}

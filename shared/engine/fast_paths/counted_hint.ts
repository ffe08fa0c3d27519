/**
 * Tells planning, before it knows the tables, that a statement only counts rows, by columns that
 * frames of the WAL may tell of. Segments that lie in its range of time are then counted, and not
 * converted. Should it turn out that a fast path does not answer, the statement is planned once
 * more with their rows.
 */

import type { Bounded } from "../bounds/bound_statement.ts";
import { conjuncts, onlyTimeBounds } from "../bounds/time_bounds.ts";
import { AGGREGATE_FUNCTIONS } from "../gate/allowed_functions.ts";
import { readsOnlyFrom } from "../order/nearest_hint.ts";
import { attributeCall } from "../plan/attribute_calls.ts";
import type { CountedNames } from "../plan/counted_by.ts";
import { namedColumns } from "../plan/projection.ts";
import {
  answerClauses,
  listAt,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import type { QueryRequest } from "../types.ts";
import { guardsAt } from "./guarded_parts.ts";
import { finerThanMinute } from "./minute_calls.ts";

const TIMES: ReadonlySet<string> = new Set(["timestamp", "timestamp_ns"]);
const COUNTS: ReadonlySet<string> = new Set(["count", "count_star"]);

/**
 * What a statement names that counts rows, and asks for nothing else of them; undefined for any
 * other. What it needs only where an attribute is missing is not among it (`guarded_parts.ts`).
 */
export function countedNames(
  { statement: { root }, references, catalog, bounds }: Bounded,
  request: QueryRequest,
): CountedNames | undefined {
  const [reference] = references;
  if (request.fastPaths === false || !readsTableAsItIs(request) || catalog.length > 0) {
    return undefined;
  }
  if (reference === undefined || reference.hot !== undefined) return undefined;
  if (!bounds.complete || !readsOnlyFrom(root, references)) return undefined;
  const clauses = answerClauses(root);
  const groups = nodesAt(root, "group_expressions").length > 0 || someNode(clauses, isDistinct);
  if (!groups && !someNode(clauses, isCount)) return undefined;
  if (someNode(clauses, isOtherAggregate)) return undefined;
  const where = nodeAt(root, "where_clause");
  const conditions = (where === undefined ? [] : conjuncts(where)).filter((condition) =>
    !onlyTimeBounds(condition, reference.node, { clockLower: true })
  );
  const parts = [...clauses, ...conditions];
  const times = timesOf(parts);
  if (times === "finer") return undefined;
  const besides = new Set(guardedByAttributes(parts).flatMap(columnsBelow));
  const attributes = new Set<string>();
  walk(parts, (node) => {
    const call = attributeCall(node);
    if (call === undefined || besides.has(call.column)) return;
    besides.add(call.column);
    attributes.add(call.attribute);
  });
  const columns = namedColumns(root, besides);
  if (columns === undefined) return undefined;
  return { columns: columns.difference(TIMES), attributes, minutes: times === "minutes" };
}

/** Whether all rows are read that the table has now, and no counts are asked besides. */
function readsTableAsItIs(
  { snapshot, since, step, columnCounts, shard, received }: QueryRequest,
): boolean {
  return [snapshot, since, step, columnCounts, shard, received].every((one) => one === undefined);
}

function isCount(node: TreeNode): boolean {
  return COUNTS.has(textAt(node, "function_name").toLowerCase());
}

function isDistinct(node: TreeNode): boolean {
  return textAt(node, "type") === "DISTINCT_MODIFIER";
}

function isOtherAggregate(node: TreeNode): boolean {
  const name = textAt(node, "function_name").toLowerCase();
  return AGGREGATE_FUNCTIONS.has(name) && !COUNTS.has(name);
}

/** What is told of the times of rows. */
function timesOf(roots: readonly TreeNode[]): "nothing" | "minutes" | "finer" {
  let [minutes, isFiner] = [false, false];
  walk(roots, (node) => {
    if (isTime(node)) isFiner = true;
    if (isDate(node)) {
      minutes = true;
      return false;
    }
    const children = nodesAt(node, "children");
    if (textAt(node, "class") !== "FUNCTION" || !children.some(isTime)) return true;
    minutes = true;
    isFiner ||=
      finerThanMinute(textAt(node, "function_name").toLowerCase(), children) !== undefined;
    return false;
  });
  if (isFiner) return "finer";
  return minutes ? "minutes" : "nothing";
}

function isDate(node: TreeNode): boolean {
  return textAt(node, "class") === "CAST" && isTime(nodeAt(node, "child") ?? {}) &&
    textAt(nodeAt(node, "cast_type") ?? {}, "id") === "DATE";
}

function isTime(node: TreeNode): boolean {
  return textAt(node, "class") === "COLUMN_REF" &&
    TIMES.has(String(listAt(node, "column_names").at(-1)).toLowerCase());
}

/** What matters only where an attribute is missing. */
function guardedByAttributes(roots: readonly TreeNode[]): readonly TreeNode[] {
  const parts: TreeNode[] = [];
  walk(roots, (node) => {
    for (const { reference, guarded } of guardsAt(node)) {
      if (reference !== undefined && attributeCall(reference) !== undefined) parts.push(...guarded);
    }
  });
  return parts;
}

function columnsBelow(root: TreeNode): readonly TreeNode[] {
  const columns: TreeNode[] = [];
  walk(root, (node) => {
    if (textAt(node, "class") === "COLUMN_REF") columns.push(node);
  });
  return columns;
}

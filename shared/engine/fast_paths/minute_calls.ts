/**
 * Calls that tell of an instant no more than its minute, so that a row that stands for a minute gives what all rows of the
 * minute give. A closed list. Days, weeks, months and years begin with a minute: sessions are in UTC.
 */

import { nodeAt, nodesAt, textAt, type TreeNode } from "../syntax_tree.ts";
import { MINUTE_FUNCTIONS, MINUTE_UNITS } from "./weighted_functions.ts";

/** Whether a call with `timestamp` among its arguments has one result a minute. */
export function isMinuteCall(name: string, children: readonly TreeNode[]): boolean {
  const [first, second, ...more] = children;
  if (first === undefined) return false;
  if (second === undefined) return MINUTE_FUNCTIONS.has(name);
  if (more.length > 0 || textAt(second, "class") !== "COLUMN_REF") return false;
  if (["date_trunc", "datetrunc", "date_part", "datepart"].includes(name)) {
    return MINUTE_UNITS.has(constantText(first)?.toLowerCase() ?? "");
  }
  return (name === "time_bucket" || name === "date_bin") && isWholeMinutes(first);
}

/** Whether such a call gives the beginning of the minute. */
export function isMinuteItself(name: string, [unit]: readonly TreeNode[]): boolean {
  return ["date_trunc", "datetrunc"].includes(name) && unit !== undefined &&
    constantText(unit)?.toLowerCase() === "minute";
}

function constantText(node: TreeNode): string | undefined {
  if (textAt(node, "class") !== "CONSTANT") return undefined;
  const value = nodeAt(node, "value") ?? {};
  const text = value["value"];
  return value["is_null"] === true || typeof text !== "string" ? undefined : text;
}

/** `INTERVAL '1 hour 30 minutes'`, `INTERVAL 5 MINUTE` and `to_months(5)`. */
function isWholeMinutes(node: TreeNode): boolean {
  const kind = textAt(node, "class");
  if (kind === "CAST" && textAt(nodeAt(node, "cast_type") ?? {}, "id") === "INTERVAL") {
    const text = constantText(nodeAt(node, "child") ?? {});
    return text !== undefined &&
      /^\s*(?:\d{1,6}\s*(?:minutes?|mins?|hours?|days?|weeks?|months?|mons?|quarters?|years?)\s*)+$/i
        .test(text) &&
      /[1-9]/.test(text);
  }
  if (kind !== "FUNCTION" || !STRIDES.has(textAt(node, "function_name").toLowerCase())) {
    return false;
  }
  const [count, ...more] = nodesAt(node, "children");
  return more.length === 0 && count !== undefined && isPositiveInteger(count);
}

const STRIDES: ReadonlySet<string> = new Set([
  "to_minutes",
  "to_hours",
  "to_days",
  "to_weeks",
  "to_months",
  "to_quarters",
  "to_years",
]);

function isPositiveInteger(node: TreeNode): boolean {
  const inner = textAt(node, "class") === "CAST" ? nodeAt(node, "child") ?? {} : node;
  if (textAt(inner, "class") !== "CONSTANT") return isPositiveTruncated(inner);
  const value = nodeAt(inner, "value")?.["value"];
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 1_000_000;
}

/** The parser's form of `INTERVAL 5 MINUTE`: `to_minutes(CAST(trunc(CAST(5 AS DOUBLE)) AS BIGINT))`. */
function isPositiveTruncated(node: TreeNode): boolean {
  if (textAt(node, "class") !== "FUNCTION" || textAt(node, "function_name") !== "trunc") {
    return false;
  }
  const [value, ...more] = nodesAt(node, "children");
  return more.length === 0 && value !== undefined && isPositiveInteger(value);
}

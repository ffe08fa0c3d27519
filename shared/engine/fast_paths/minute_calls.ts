/**
 * Calls that tell no more of an instant than its minute. A row that stands for a minute then gives
 * what all rows of the minute give. The list is closed. Days, weeks, months and years begin with a
 * minute, because sessions are in UTC.
 */

import { nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { textMicros } from "../bounds/time_constants.ts";
import { MINUTE_FUNCTIONS, MINUTE_UNITS } from "./weighted_functions.ts";

/**
 * Why a call with `timestamp` among its arguments may have several results a minute. Undefined: it
 * has one.
 */
export function finerThanMinute(name: string, children: readonly TreeNode[]): string | undefined {
  const [first, second, ...more] = children;
  if (first === undefined) return undefined;
  if (second === undefined) {
    return MINUTE_FUNCTIONS.has(name)
      ? undefined
      : `${name} of timestamp may differ within a minute`;
  }
  const isOfTime = textAt(second, "class") === "COLUMN_REF";
  if (isOfTime && more.length === 0 && UNIT_FUNCTIONS.has(name)) {
    const unit = constantText(first)?.toLowerCase();
    if (unit === undefined) return `the unit of ${name} is computed`;
    return MINUTE_UNITS.has(unit) ? undefined : `${name} by ${unit} tells more than the minute`;
  }
  if (isOfTime && BIN_FUNCTIONS.has(name)) return finerBins(name, first, more);
  return `${name} of timestamp may differ within a minute`;
}

const UNIT_FUNCTIONS: ReadonlySet<string> = new Set([
  "date_part",
  "date_trunc",
  "datepart",
  "datetrunc",
]);

const BIN_FUNCTIONS: ReadonlySet<string> = new Set(["date_bin", "time_bucket"]);

/** Bins whose ends are all at whole minutes have a minute's rows together. */
function finerBins(
  name: string,
  stride: TreeNode,
  [origin, ...more]: readonly TreeNode[],
): string | undefined {
  if (more.length > 0) return `${name} has more arguments than are known`;
  if (!isWholeMinutes(stride)) return `the stride of ${name} is not written as whole minutes`;
  if (origin === undefined || isMinute(origin) || isWholeMinutes(origin)) return undefined;
  return `the origin of ${name} is not written as a whole minute`;
}

/** Whether a constant is a time without seconds, for example `TIMESTAMP '2026-11-20 12:30:00'`. */
function isMinute(node: TreeNode): boolean {
  if (textAt(node, "class") !== "CAST") return false;
  const type = textAt(nodeAt(node, "cast_type") ?? {}, "id");
  if (!["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"].includes(type)) return false;
  const us = textMicros(constantText(nodeAt(node, "child") ?? {}) ?? "");
  return us !== undefined && us % MINUTE_US === 0n;
}

const MINUTE_US = 60_000_000n;

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

/**
 * Whether an interval is of whole minutes: `INTERVAL '1 hour 30 minutes'`, `'5 minutes'`,
 * `'3600 seconds'`, `INTERVAL 5 MINUTE` and `to_months(5)`.
 */
function isWholeMinutes(node: TreeNode): boolean {
  const kind = textAt(node, "class");
  const isInterval = kind === "CAST" &&
    textAt(nodeAt(node, "cast_type") ?? {}, "id") === "INTERVAL";
  if (isInterval || kind === "CONSTANT") {
    const text = constantText(isInterval ? nodeAt(node, "child") ?? {} : node);
    return text !== undefined && isWholeMinutesText(text);
  }
  if (kind !== "FUNCTION" || !STRIDES.has(textAt(node, "function_name").toLowerCase())) {
    return false;
  }
  const [count, ...more] = nodesAt(node, "children");
  return more.length === 0 && count !== undefined && isPositiveInteger(count);
}

function isWholeMinutesText(text: string): boolean {
  const isKnown =
    /^\s*(?:(?:\d{1,9}\s*seconds?|\d{1,6}\s*(?:minutes?|mins?|hours?|days?|weeks?|months?|mons?|quarters?|years?))\s*)+$/i
      .test(text);
  let seconds = 0;
  for (const [, count] of text.matchAll(/(\d+)\s*seconds?/gi)) seconds += Number(count);
  return isKnown && seconds % 60 === 0 && /[1-9]/.test(text);
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

/**
 * The parser's form of `INTERVAL 5 MINUTE`: `to_minutes(CAST(trunc(CAST(5 AS DOUBLE)) AS BIGINT))`.
 */
function isPositiveTruncated(node: TreeNode): boolean {
  if (textAt(node, "class") !== "FUNCTION" || textAt(node, "function_name") !== "trunc") {
    return false;
  }
  const [value, ...more] = nodesAt(node, "children");
  return more.length === 0 && value !== undefined && isPositiveInteger(value);
}

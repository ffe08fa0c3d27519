/**
 * Judges constant expressions of a time: whether one is constant, whether the clock is in it, and
 * which instant it is. Texts in the forms of RFC 3339 and SQL are read here. DuckDB evaluates
 * everything else, and just once a text for which it need not ask the clock.
 */

import { NS_PER_US, parseRfc3339Ns } from "../../base/time.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import { constantTexts } from "./constant_texts.ts";
import { nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

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

/** Whether the value of an expression depends on when it is evaluated. */
export function usesClock(node: TreeNode): boolean {
  let found = false;
  walk(node, (inner) => {
    if (textAt(inner, "class") === "FUNCTION") {
      found ||= CLOCK_FUNCTIONS.has(textAt(inner, "function_name").toLowerCase());
    } else if (textAt(inner, "class") === "CONSTANT" && constantType(inner) === "VARCHAR") {
      // 'now' and 'today' are texts that DuckDB reads from the clock.
      found ||= !/^\s*\d/.test(String(nodeAt(inner, "value")?.["value"]));
    }
  });
  return found;
}

/**
 * Returns the Unix microseconds of constant time expressions, by node; undefined for one that has
 * no finite value.
 */
export async function microsOf(
  connection: CachedConnection,
  constants: readonly TreeNode[],
): Promise<ReadonlyMap<TreeNode, bigint | undefined>> {
  const micros = new Map<TreeNode, bigint | undefined>();
  const asked: TreeNode[] = [];
  for (const constant of constants) {
    const written = writtenMicros(constant);
    if (written === undefined) asked.push(constant);
    else micros.set(constant, written);
  }
  const texts = await constantTexts(connection, asked, {
    shown: (name) => `epoch_us(TRY_CAST(${name} AS TIMESTAMPTZ))::VARCHAR`,
    steady: !asked.some(usesClock),
  });
  asked.forEach((constant, i) => {
    const text = texts[i];
    micros.set(constant, text === null || text === undefined ? undefined : BigInt(text));
  });
  return micros;
}

/**
 * Returns the Unix microseconds of a text, or of one that is cast to a time with all its parts.
 * Undefined: DuckDB must be asked.
 */
function writtenMicros(node: TreeNode): bigint | undefined {
  const cast = textAt(node, "class") === "CAST"
    ? textAt(nodeAt(node, "cast_type") ?? {}, "id")
    : undefined;
  const literal = cast === undefined ? node : nodeAt(node, "child") ?? {};
  if (textAt(literal, "class") !== "CONSTANT" || constantType(literal) !== "VARCHAR") {
    return undefined;
  }
  const text = nodeAt(literal, "value")?.["value"];
  if (typeof text !== "string" || (cast === "DATE" && !DATE.test(text))) return undefined;
  return textMicros(text);
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const INSTANT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(Z?)$/;

/**
 * Returns the Unix microseconds of a text, rounded down, as DuckDB reads it in UTC. It is undefined
 * for any form that DuckDB and this code may read differently.
 */
export function textMicros(text: string): bigint | undefined {
  const zone = INSTANT.exec(text)?.[1];
  const full = DATE.test(text) ? `${text}T00:00:00Z` : zone === "" ? `${text}Z` : text;
  const ns = zone === undefined && full === text ? undefined : parseRfc3339Ns(full);
  if (ns === undefined) return undefined;
  return ns >= 0n ? ns / NS_PER_US : (ns - NS_PER_US + 1n) / NS_PER_US;
}

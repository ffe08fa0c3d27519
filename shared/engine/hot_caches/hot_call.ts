/**
 * `last_values(…)` and `distinct_values(…)` in a statement: what is asked for, and the name under
 * which the statement then reads the answer as a table. The call is replaced in the tree before
 * anything else looks at its tables.
 */

import { OperatingError } from "../../base/errors.ts";
import { EVENTS_TABLE } from "../../schema/events.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";

export type HotCall =
  | { readonly kind: "last_values"; readonly table: string }
  | { readonly kind: "distinct_values"; readonly dim: string; readonly table: string };

const USAGE: Readonly<Record<HotCall["kind"], string>> = {
  last_values: "last_values() or last_values('<table>')",
  distinct_values: "distinct_values('<column>') or distinct_values('<column>', '<table>')",
};

/** Names of the two calls. */
export const HOT_FUNCTIONS: readonly string[] = Object.keys(USAGE);

/** Whether a table function is one of the two calls. */
export function isHotFunction(name: string): name is HotCall["kind"] {
  return Object.hasOwn(USAGE, name);
}

/** Parses a call. Errors: `invalid_argument` (`bad_hot_call`) for other arguments than names. */
export function parseHotCall(kind: HotCall["kind"], call: TreeNode): HotCall {
  const names = nodesAt(call, "children").map(nameOf);
  const isPlain = names.every((name) => name !== undefined) &&
    nodeAt(call, "filter") === undefined && call["distinct"] !== true;
  const [first, second] = names;
  if (isPlain && kind === "last_values" && names.length <= 1) {
    return { kind, table: first ?? EVENTS_TABLE };
  }
  if (isPlain && kind === "distinct_values" && first !== undefined && names.length <= 2) {
    return { kind, dim: first, table: second ?? EVENTS_TABLE };
  }
  throw new OperatingError(
    "invalid_argument",
    `Cannot call ${kind} with these arguments: write ${USAGE[kind]}`,
    { reason: "bad_hot_call" },
  );
}

/** Begins the name of a call's table. Nobody would give a WITH such a name. */
const CALL_MARK = "\u0001";

/** The name of a call's table. Equal calls have equal names. */
export function hotTableName(call: HotCall): string {
  const args = call.kind === "last_values" ? [call.table] : [call.dim, call.table];
  return `${CALL_MARK}${call.kind}(${args.join(", ")})`;
}

/** A planned table's name as a client may see it. */
export function shownName(name: string): string {
  return name.startsWith(CALL_MARK) ? name.slice(CALL_MARK.length) : name;
}

/**
 * Makes the call's node a table of that name. Its alias stays; without one it is the function's
 * name, which is DuckDB's rule.
 */
export function replaceWithTable(node: TreeNode, call: HotCall): void {
  node["type"] = "BASE_TABLE";
  node["table_name"] = hotTableName(call);
  node["schema_name"] = "";
  node["catalog_name"] = "";
  node["at_clause"] = null;
  if (textAt(node, "alias") === "") node["alias"] = call.kind;
  delete node["function"];
}

/** A text constant, or a name that stands for itself, in lower case like all names. */
function nameOf(argument: TreeNode): string | undefined {
  if (textAt(argument, "class") === "COLUMN_REF") {
    const names = listAt(argument, "column_names");
    return names.length === 1 ? String(names[0]).toLowerCase() : undefined;
  }
  const value = nodeAt(argument, "value");
  const isText = textAt(argument, "class") === "CONSTANT" &&
    textAt(nodeAt(value ?? {}, "type") ?? {}, "id") === "VARCHAR";
  return isText ? textAt(value ?? {}, "value").toLowerCase() : undefined;
}

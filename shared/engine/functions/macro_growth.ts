/**
 * What macros make of a statement before it is bound. A macro writes an argument as often as it uses it, so calls in calls grow by
 * that factor with each level: six `kv_extract` in each other take two seconds to bind, ten take minutes, and nothing
 * interrupts the SQL engine while it binds. So a statement that grows too much is refused.
 */

import { OperatingError } from "../../base/errors.ts";
import { isNode, listAt, textAt, type TreeNode, type TreeValue } from "../syntax_tree.ts";

/** Nodes that macros may add to a statement, about: some tenths of a second of binding. */
const GROWTH_MAX = 50_000;

/** How often each argument of a macro is written, by name; of several forms together. */
export type MacroUses = ReadonlyMap<string, readonly number[]>;

/** `setup`: `CREATE MACRO …` as the SQL engine is set up with them. */
export function macroUses(setup: readonly string[]): MacroUses {
  return new Map(setup.flatMap((sql) => {
    const [, name, parameters, body] = /^CREATE MACRO (\w+)\(([^)]*)\) AS\s([\s\S]*)$/.exec(sql) ??
      [];
    if (name === undefined || parameters === undefined || body === undefined) return [];
    const forms = [
      parameters,
      ...body.matchAll(/, \(([^()]*)\) AS\s/g).map((match) => match[1] ?? ""),
    ];
    const longest = forms.map((form) => form.split(", ")).reduce((a, b) =>
      b.length > a.length ? b : a
    );
    const uses = longest.filter((parameter) => parameter !== "").map((parameter) =>
      [...body.matchAll(new RegExp(`\\b${parameter}\\b`, "g"))].length
    );
    return [[name, uses] as const];
  }));
}

/** Errors: `invalid_argument` with reason `statement_too_large`. */
export function refuseGrowth(root: TreeNode, uses: MacroUses): void {
  const { nodes, grown } = sizeOf(root, uses);
  if (grown - nodes <= GROWTH_MAX) return;
  throw new OperatingError(
    "invalid_argument",
    "Cannot read the statement: its calls in calls grow too large when they are written out; compute the inner ones in a subquery",
    { reason: "statement_too_large" },
  );
}

interface Size {
  readonly nodes: number;
  /** With macros written out. */
  readonly grown: number;
}

function sizeOf(value: TreeValue, uses: MacroUses): Size {
  if (Array.isArray(value)) return sumOf(value.map((item) => sizeOf(item, uses)));
  if (!isNode(value)) return { nodes: 0, grown: 0 };
  const calls = textAt(value, "class") === "FUNCTION"
    ? uses.get(textAt(value, "function_name").toLowerCase())
    : undefined;
  const { nodes, grown } = sumOf(
    Object.entries(value).map(([member, below]) =>
      calls !== undefined && member === "children"
        ? sumOf(
          listAt(value, member).map((child, at) => times(sizeOf(child, uses), calls[at] ?? 1)),
        )
        : sizeOf(below, uses)
    ),
  );
  return { nodes: nodes + 1, grown: grown + 1 };
}

function times({ nodes, grown }: Size, count: number): Size {
  return { nodes, grown: grown * Math.max(1, count) };
}

function sumOf(sizes: readonly Size[]): Size {
  return sizes.reduce(
    (sum, size) => ({ nodes: sum.nodes + size.nodes, grown: sum.grown + size.grown }),
    { nodes: 0, grown: 0 },
  );
}

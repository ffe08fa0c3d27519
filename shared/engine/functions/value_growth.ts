/**
 * How much larger a value of a statement can be than what it is made of, by the classes of the
 * functions that make it.
 *
 * `hex(hex(x))` is four times `x`. A chain of WITHs each of which says `x || x` makes a gigabyte of
 * a letter. While DuckDB makes a value, it neither counts it against its memory pool nor can be
 * interrupted. So what grows too much within one expression is refused. What is made of values that
 * the statement made before is measured when it runs. What is made of stored columns alone, which
 * is most statements, costs nothing.
 */

import { OperatingError } from "../../base/errors.ts";
import { AGGREGATE_FUNCTIONS } from "../gate/allowed_functions.ts";
import {
  EXPANDED_NODES_MAX,
  LAMBDA_DEPTH_MAX,
  STRUCT_MEMBERS_MAX,
  VALUE_GROWTH_MAX,
  VALUE_MADE_MAX,
} from "../limits.ts";
import {
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  walk,
  writtenKey,
} from "../statement/syntax_tree.ts";
import { functionClass } from "./function_classes.ts";

/** What a value is made of: for each leaf, how often its bytes are in it at most. */
export type Growth = ReadonlyMap<string, GrowthLeaf>;

/** One thing that a value is made of. */
export interface GrowthLeaf {
  readonly node: TreeNode;
  /** How often the leaf's bytes are in the value at most. */
  readonly times: number;
  /** How often they are in the value of ordinary texts. */
  readonly usual: number;
}

/**
 * Checks a statement. Errors: `invalid_argument` with reason `value_too_large` for an expression
 * that makes too much of its parts, and with `statement_too_large` for calls within calls that
 * DuckDB would write out beyond measure.
 */
export function checkGrowth(root: TreeNode, placeOf: (node: TreeNode) => string): void {
  if (someNode(root, (node) => makesMore(node) || textAt(node, "class") === "LAMBDA")) {
    checkNode(root, { placeOf, lambdas: 0, growths: new Growths() });
  }
  const made = aliasesOf(root);
  let [more, members] = [0, 1];
  walk(root, (node) => {
    if (textAt(node, "type") !== "SELECT_NODE") return;
    more += writtenOut(node);
    if (more > EXPANDED_NODES_MAX) throw tooManyNodes();
    members *= Math.max(1, structuredLeaves(node, made));
    if (members > STRUCT_MEMBERS_MAX) throw tooManyMembers();
  });
}

/**
 * Whether a value may have a part more than once, or parts one after another. A tree without such a
 * node makes no value that is larger than its parts.
 */
export function makesMore(node: TreeNode): boolean {
  if (textAt(node, "type") === "ARRAY_CONSTRUCTOR") return true;
  if (textAt(node, "class") !== "FUNCTION") return false;
  const kind = functionClass(textAt(node, "function_name").toLowerCase())?.kind;
  return kind === "sum" || kind === "times";
}

const STRUCTS: ReadonlySet<string> = new Set([
  ...[
    "row",
    "struct_concat",
    "struct_insert",
    "struct_pack",
    "struct_update",
    "map",
    "union_value",
  ],
]);

/**
 * How often what the statement itself made can be in the structs of a SELECT, as members or as a
 * table's row. Types grow by this from SELECT to SELECT, while the statement is bound.
 */
function structuredLeaves(select: TreeNode, made: ReadonlySet<string>): number {
  const tables = new Set<string>();
  walk(select["from_table"], (node) => {
    const name = textAt(node, "alias") || textAt(node, "table_name");
    if (name !== "") tables.add(name.toLowerCase());
    return textAt(node, "type") !== "SUBQUERY";
  });
  let leaves = 0;
  const count = (node: TreeNode, inStruct: boolean) => {
    if (textAt(node, "class") === "SUBQUERY") return;
    const inner = inStruct || STRUCTS.has(textAt(node, "function_name").toLowerCase());
    const [name, ...more] = textAt(node, "class") === "COLUMN_REF" ? namesOf(node) : [];
    const isRow = name !== undefined && more.length === 0 && tables.has(name);
    if (isRow || name !== undefined && inner && made.has(more.at(-1) ?? name)) leaves += 1;
    for (const part of partsOf(node)) count(part, inner);
  };
  for (const item of nodesAt(select, "select_list")) count(item, false);
  return leaves;
}

function namesOf(column: TreeNode): string[] {
  return listAt(column, "column_names").map((name) => String(name).toLowerCase());
}

/** Length of the text of a constant. */
function lengthOf(node: TreeNode): number {
  return textAt(node, "class") === "CONSTANT"
    ? textAt(nodeAt(node, "value") ?? {}, "value").length
    : 0;
}

interface Below {
  readonly placeOf: (node: TreeNode) => string;
  readonly lambdas: number;
  readonly growths: Growths;
}

function checkNode(node: TreeNode, below: Below): void {
  const { placeOf, growths } = below;
  let inner = below;
  if (textAt(node, "class") === "LAMBDA") {
    inner = { ...below, lambdas: below.lambdas + 1 };
    if (inner.lambdas > LAMBDA_DEPTH_MAX) throw tooDeepLambda(placeOf(node));
  }
  if (textAt(node, "class") === "FUNCTION") {
    for (const { node: leaf, times } of growths.of(node).values()) {
      const isTooMuch = times > VALUE_GROWTH_MAX ||
        times > 2 && lengthOf(leaf) * times > VALUE_MADE_MAX;
      if (isTooMuch) throw tooMuch(textAt(node, "function_name"), times, placeOf(node));
    }
  }
  for (const child of childrenOf(node)) checkNode(child, inner);
}

/** What expressions are made of. The tree does not change meanwhile. */
export class Growths {
  readonly #known = new Map<TreeNode, Growth>();
  #constants = 0;

  /**
   * What one expression is made of. Leaves are columns, constants, and what is a value of its own:
   * subqueries, aggregates, windows.
   */
  of(node: TreeNode): Growth {
    const known = this.#known.get(node) ?? this.#growth(node);
    this.#known.set(node, known);
    return known;
  }

  /**
   * How often at most the leaves that `isMade` tells are in a value: parts one after another add
   * up, of alternatives the largest counts.
   */
  madeTimes(node: TreeNode, isMade: (leaf: TreeNode) => boolean): number {
    const [only] = this.of(node).values();
    if (only === undefined) return 0;
    if (only.node === node) return isMade(node) ? 1 : 0;
    const name = textAt(node, "function_name").toLowerCase();
    const one = textAt(node, "class") === "FUNCTION" ? functionClass(name) : undefined;
    const isSum = one?.kind === "sum" || one?.kind === "times" ||
      textAt(node, "type") === "ARRAY_CONSTRUCTOR";
    const parts = partsOf(node).slice(0, REPLACEMENTS.has(name) ? 1 : undefined)
      .map((part) => this.madeTimes(part, isMade));
    return isSum
      ? (one?.kind === "times" ? one.factor : 1) * parts.reduce((sum, times) => sum + times, 0)
      : Math.max(0, ...parts);
  }

  #growth(node: TreeNode): Growth {
    const parts = () => partsOf(node).map((part) => this.of(part));
    switch (textAt(node, "class")) {
      case "COMPARISON":
      case "CONJUNCTION":
      case "BETWEEN":
      case "LAMBDA":
        return new Map();
      case "CASE":
      case "CAST":
      case "COLLATE":
        return largest(parts());
      case "OPERATOR": {
        const type = textAt(node, "type");
        if (SMALL_OPERATORS.test(type)) return new Map();
        return type === "ARRAY_CONSTRUCTOR" ? together(parts()) : largest(parts());
      }
      case "FUNCTION":
        return this.#growthOfCall(node);
      default:
        return this.#leaf(node);
    }
  }

  #growthOfCall(node: TreeNode): Growth {
    const name = textAt(node, "function_name").toLowerCase();
    const one = functionClass(name);
    const parts = nodesAt(node, "children");
    if (REPLACEMENTS.has(name)) return largest(parts.slice(0, 1).map((part) => this.of(part)));
    if (one === undefined || AGGREGATE_FUNCTIONS.has(name) || one.kind === "bounded") {
      return this.#leaf(node);
    }
    if (one.kind === "fixed") return new Map();
    const growths = parts.map((part) => this.of(part));
    if (one.kind === "same" || one.kind === "parts") return largest(growths);
    return together(growths, one.kind === "times" ? one : ONCE);
  }

  #leaf(node: TreeNode): Growth {
    return new Map([[this.#keyOf(node), { node, times: 1, usual: 1 }]]);
  }

  /** Constants are each their own leaf: the statement's bound is also a bound of all of them. */
  #keyOf(node: TreeNode): string {
    if (textAt(node, "class") === "CONSTANT") return `\0${this.#constants += 1}`;
    if (textAt(node, "class") !== "COLUMN_REF") return writtenKey(node);
    return namesOf(node).join(".");
  }
}

const SMALL_OPERATORS = /^(?:COMPARE_|OPERATOR_(?:IS_|NOT|TRY_IS))/;

/** Replacements have a bound of their own on what they put in. */
export const REPLACEMENTS: ReadonlySet<string> = new Set(["replace", "regexp_replace"]);

const ONCE = { factor: 1, usual: 1 };

function together(parts: readonly Growth[], { factor, usual } = ONCE): Growth {
  const all = new Map<string, GrowthLeaf>();
  for (const [key, leaf] of parts.flatMap((part) => [...part])) {
    const before = all.get(key) ?? { times: 0, usual: 0 };
    all.set(key, {
      node: leaf.node,
      times: before.times + leaf.times * factor,
      usual: before.usual + leaf.usual * usual,
    });
  }
  return all;
}

function largest(parts: readonly Growth[]): Growth {
  const all = new Map<string, GrowthLeaf>();
  for (const [key, leaf] of parts.flatMap((part) => [...part])) {
    const before = all.get(key) ?? leaf;
    all.set(key, {
      node: leaf.node,
      times: Math.max(before.times, leaf.times),
      usual: Math.max(before.usual, leaf.usual),
    });
  }
  return all;
}

/** The expressions and queries right below a node. */
export function childrenOf(node: TreeNode): TreeNode[] {
  return Object.values(node).flatMap((value) => Array.isArray(value) ? value : [value])
    .filter(isNode);
}

/** The nearest expressions below one, whatever stands between. */
export function partsOf(node: TreeNode): TreeNode[] {
  return childrenOf(node).flatMap((child) =>
    typeof child["class"] === "string" ? [child] : partsOf(child)
  );
}

/**
 * Lower-cased names that a statement gives to something. Any other name is a stored column.
 */
export function aliasesOf(root: TreeNode): ReadonlySet<string> {
  const names = new Set<string>(["unnest", "range", "generate_series", "value", "key"]);
  walk(root, (node) => {
    const alias = textAt(node, "alias");
    if (alias !== "") names.add(alias.toLowerCase());
    for (const member of ["column_name_alias", "aliases", "rename_list"]) {
      for (const name of namesIn(node[member])) names.add(name.toLowerCase());
    }
    if (textAt(node, "class") !== "LAMBDA") return;
    walk(node["lhs"], (parameter) => {
      for (const name of listAt(parameter, "column_names")) names.add(String(name).toLowerCase());
    });
  });
  return names;
}

function namesIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(namesIn) : [];
}

const PATTERNS: Readonly<Record<string, number>> = Object.fromEntries(
  ["~~", "!~~", "~~*", "!~~*", "~~~"].map((name) => [name, 4]),
);

/** Macros write an argument several times. */
const COPIES: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    [
      ...["repeat", "lpad", "rpad", "replace", "flatten", "regexp_replace", "json_pretty"],
      ...["apply", "array_apply", "array_transform", "list_apply", "list_transform"],
      ...["jaro_similarity", "jaro_winkler_similarity", "json_contains", "json_merge_patch"],
    ].map((name) => [name, 2]),
  ),
  ...PATTERNS,
  date_bin: 9,
  kv_extract: 6,
  match: 8,
  match_any: 8,
  match_phrase: 8,
  match_prefix: 8,
  match_terms: 8,
};

function copiesBy(node: TreeNode): number {
  const name = textAt(node, "function_name").toLowerCase();
  const [, pattern, target] = nodesAt(node, "children");
  const last = REPLACEMENTS.has(name) ? target : name in PATTERNS ? pattern : undefined;
  return last !== undefined && textAt(last, "class") === "CONSTANT" ? 1 : COPIES[name] ?? 1;
}

/**
 * Expressions that DuckDB adds to a SELECT's own: macros and names of its own columns are written
 * out.
 */
function writtenOut(select: TreeNode): number {
  const named = new Map<string, number>();
  let more = 0;
  const sizeOf = (node: TreeNode): number => {
    if (textAt(node, "class") === "SUBQUERY") return 1;
    if (textAt(node, "class") === "COLUMN_REF") {
      const [name, ...members] = listAt(node, "column_names");
      const size = members.length > 0 ? 1 : named.get(String(name).toLowerCase()) ?? 1;
      more += size - 1;
      return size;
    }
    const inner = partsOf(node).reduce((sum, part) => sum + sizeOf(part), 0);
    const size = 1 + inner * copiesBy(node);
    more += size - 1 - inner;
    if (more > EXPANDED_NODES_MAX) throw tooManyNodes();
    return size;
  };
  for (const item of nodesAt(select, "select_list")) {
    const size = sizeOf(item);
    const alias = textAt(item, "alias").toLowerCase();
    if (alias !== "") named.set(alias, size);
  }
  const { select_list: _, from_table: __, cte_map: ___, ...clauses } = select;
  partsOf(clauses).forEach(sizeOf);
  return more;
}

function tooMuch(name: string, times: number, place: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot call ${name}${place}: with the calls in its arguments it makes up to ${times} times what it is given, ` +
      `and ${VALUE_GROWTH_MAX} times or ${VALUE_MADE_MAX} bytes of a constant are allowed; nest fewer of them`,
    { reason: "value_too_large" },
  );
}

function tooDeepLambda(place: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot run the lambda${place}: it is nested deeper than ${LAMBDA_DEPTH_MAX} levels; use unnest in FROM`,
    { reason: "value_too_large" },
  );
}

function tooManyMembers(): OperatingError {
  return new OperatingError(
    "invalid_argument",
    "Cannot run the statement: its structs, made of each other from SELECT to SELECT, may have more than " +
      `${STRUCT_MEMBERS_MAX} members; pass columns on as they are`,
    { reason: "value_too_large" },
  );
}

function tooManyNodes(): OperatingError {
  return new OperatingError(
    "invalid_argument",
    "Cannot run the statement: it is too large (its calls and names, written out, are more than " +
      `${EXPANDED_NODES_MAX} expressions); nest fewer calls, and name a column that is used again in a WITH`,
    { reason: "statement_too_large" },
  );
}

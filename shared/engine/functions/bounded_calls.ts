/**
 * Exchanges calls whose work or result cannot be told before the statement runs. Their replacements
 * measure their arguments first: values made of what the statement made before, lambdas within
 * lambdas and what they bring from outside, texts that are looked for. `value_growth.ts` says what
 * is made of what.
 */

import {
  LAMBDA_COPIED_MAX,
  LAMBDA_ELEMENTS_MAX,
  LAMBDA_READ_MAX,
  LIST_FLATTENED_MAX,
  PAIRS_COMPARED_MAX,
  PAIRS_SEARCHED_MAX,
  STORED_GROWTH_MAX,
  TEXT_MADE_IN_LIST_MAX,
  TEXT_MADE_MAX,
  VALUE_MADE_MAX,
} from "../limits.ts";
import { callNode, compareNode, integerNode, textNode } from "../statement/tree_nodes.ts";
import {
  cloneTree,
  listAt,
  nodeAt,
  nodesAt,
  replaceNode,
  someNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { functionClass } from "./function_classes.ts";
import {
  childrenOf,
  type Growth,
  Growths,
  makesMore,
  partsOf,
  REPLACEMENTS,
} from "./value_growth.ts";

const MAPS: ReadonlySet<string> = new Set([
  ...["apply", "array_apply", "array_transform", "list_apply", "list_transform"],
]);
const FILTERS: ReadonlySet<string> = new Set(["array_filter", "filter", "list_filter"]);

/** Functions that look for the second argument in the first. */
const SEARCHES: ReadonlySet<string> = new Set([
  ...["contains", "instr", "position", "strpos", "split_part"],
  ...["split", "str_split", "string_split", "string_to_array"],
]);
/** Shorter constants are found as quickly as a text is read. */
const NEEDLE_LENGTH_MAX = 256;
/** The bound that `dialect.ts` has for `regexp_replace`. */
const SHORT_TARGET = 16;

/** Calls that make text of a number, or of another text's length. */
const SIZED: ReadonlySet<string> = new Set(["repeat", "lpad", "rpad"]);
/** How often such a text may be in another. */
const SIZED_GROWTH_MAX = 4;

const compared = (name: string, more = "") => {
  const check = `CASE WHEN strlen(a::VARCHAR)::HUGEINT * strlen(b::VARCHAR) > ${PAIRS_COMPARED_MAX}
    THEN bounded_fail('${name} compares at most ${PAIRS_COMPARED_MAX} pairs of bytes, and its arguments have ' ||
      strlen(a::VARCHAR) || ' and ' || strlen(b::VARCHAR) || ' bytes: shorten them with left(…)')
    ELSE a END`;
  return `(a, b${more}) AS system.main.${name}(${check}, b${more})`;
};

const lambdaMacro = (kind: "transform" | "filter", depth: number) => {
  const most = kind === "filter" && depth === 1
    ? LIST_FLATTENED_MAX
    : LAMBDA_ELEMENTS_MAX[depth - 1];
  return `CREATE MACRO bounded_${kind}_${depth}(list, outside, most, expression) AS
    system.main.list_${kind}(CASE
      WHEN len(list) > ${most} THEN bounded_fail('a lambda within ${depth} levels of lambdas takes lists of up to ${most} ' ||
        'elements, and this one has ' || len(list) || ': use unnest in FROM')
      WHEN len(list) * outside > most THEN bounded_fail('a lambda takes ' || outside || ' bytes from outside for each of ' ||
        len(list) || ' elements, at most ' || most || ' in all: use unnest in FROM')
      ELSE list END, expression)`;
};

export const BOUNDED_CALLS: readonly string[] = [
  ...["jaro_similarity", "jaro_winkler_similarity"].map((name) =>
    `CREATE MACRO ${name} ${compared(name)}, ${compared(name, ", cutoff")}`
  ),
  ...["json_contains", "json_merge_patch"].map((name) => `CREATE MACRO ${name} ${compared(name)}`),
  `CREATE MACRO bounded_needle(value, needle) AS CASE
    WHEN typeof(needle) = 'VARCHAR' AND length(needle::VARCHAR) > ${NEEDLE_LENGTH_MAX}
      AND strlen(value::VARCHAR)::HUGEINT * strlen(needle::VARCHAR) > ${PAIRS_SEARCHED_MAX}
    THEN bounded_fail('a text of ' || strlen(needle::VARCHAR) || ' bytes is not looked for in one of ' ||
      strlen(value::VARCHAR) || ': shorten one with left(…)') ELSE needle END`,
  `CREATE MACRO bounded_once(value, times) AS list_extract(system.main.list_transform([value], lambda one:
    CASE WHEN strlen(one::VARCHAR) * times > ${VALUE_MADE_MAX}
    THEN bounded_fail('a value of ' || strlen(one::VARCHAR) || ' bytes is too long to make others of: shorten it with ' ||
      'left(…)') ELSE one END), 1)`,
  `CREATE MACRO bounded_error(name) AS bounded_fail(name || ' would make more than ${VALUE_MADE_MAX} bytes of values that ' ||
    'the statement made before: shorten them with left(…)')`,
  `CREATE MACRO json_pretty(value) AS system.main.json_pretty(CASE
    WHEN (strlen(value::VARCHAR) - strlen(translate(value::VARCHAR, '[{', '')))::HUGEINT * strlen(value::VARCHAR)
      > ${PAIRS_SEARCHED_MAX}
    THEN bounded_fail('json_pretty takes no document of ' || strlen(value::VARCHAR) || ' bytes with as many members: ' ||
      'take a part of it with json_extract') ELSE value END)`,
  `CREATE MACRO bounded_bytes(value) AS coalesce(strlen(value::VARCHAR), 0)`,
  ...[1, 2, 3, 4].flatMap((depth) => [
    lambdaMacro("transform", depth),
    lambdaMacro("filter", depth),
  ]),
  ...["lpad", "rpad"].map((name) =>
    `CREATE MACRO ${name}_in_list(value, size, filler) AS system.main.${name}(value, ${
      inList(name, "size::BIGINT", "size::INTEGER")
    }, filler)`
  ),
  `CREATE MACRO repeat_in_list(value, count) AS system.main.repeat(value, ${
    inList("repeat", "length(value)::HUGEINT * count::BIGINT", "count::BIGINT")
  })`,
  `CREATE MACRO replace_in_list(value, source, target) AS system.main.replace(value, source, ${
    inList(
      "replace",
      `length(value)::HUGEINT * greatest(length(target) - ${SHORT_TARGET}, 0)`,
      "target",
    )
  })`,
];

function inList(name: string, size: string, argument: string): string {
  return `CASE WHEN ${size} > ${TEXT_MADE_IN_LIST_MAX} THEN bounded_fail('${name} would make more than ` +
    `${TEXT_MADE_IN_LIST_MAX} characters for each element of a list') ELSE ${argument} END`;
}

/** Whether there may be such calls below `root`. */
export function mayHoldBoundedCalls(root: TreeNode): boolean {
  return someNode(root, (node) => {
    if (makesMore(node)) return true;
    const name = textAt(node, "function_name").toLowerCase();
    return name !== "" &&
      [MAPS, FILTERS, SEARCHES, SIZED, REPLACEMENTS].some((names) => names.has(name));
  });
}

/**
 * Exchanges the calls below `root`, and returns whether there were any. `made` has the names that
 * the statement gave: all other names are stored columns.
 */
export function exchangeBoundedCalls(root: TreeNode, made: ReadonlySet<string>): boolean {
  const exchange = new Exchange(made);
  exchange.visit(root, { isValue: false, lambdas: [] });
  return exchange.count > 0;
}

interface Around {
  /** The value around it is made of it, and is measured with it. */
  readonly isValue: boolean;
  /** Names of the parameters of lambdas around it. */
  readonly lambdas: readonly ReadonlySet<string>[];
}

class Exchange {
  count = 0;
  readonly #growths = new Growths();
  readonly #measuredOnce = new Set<TreeNode>();

  constructor(private readonly made: ReadonlySet<string>) {}

  visit(node: TreeNode, around: Around): void {
    const kind = textAt(node, "class");
    const name = textAt(node, "function_name").toLowerCase();
    const isValue = kind !== "" && makesValue(node, this.#growths);
    // An expression is measured as a whole, so that its parts are not measured again.
    const measured = isValue && !around.isValue ? this.#measured(node) : undefined;
    const [leaf] = isValue ? this.#growths.of(node).values() : [];
    // Arguments of what is measured as one, for example of an aggregate, are values of their own.
    const isWhole = isValue && leaf?.node !== node;
    const inner = { ...around, isValue: kind === "" ? around.isValue : isWhole };
    if (kind === "FUNCTION" && (MAPS.has(name) || FILTERS.has(name))) this.#lambda(node, inner);
    else for (const child of childrenOf(node)) this.visit(child, inner);
    if (kind === "FUNCTION") this.#call(node, name, around);
    if (measured !== undefined) this.#measure(node, measured);
  }

  #call(node: TreeNode, name: string, { lambdas }: Around): void {
    const [value, needle, target, ...others] = nodesAt(node, "children");
    const isLong = name === "replace" && !isShort(target, SHORT_TARGET);
    if (isLong || lambdas.length > 0 && SIZED.has(name)) {
      const way = lambdas.length > 0 ? "in_list" : "bounded";
      Object.assign(node, { function_name: `${name}_${way}`, schema: "" });
      this.count += 1;
    }
    if (REPLACEMENTS.has(name) && value !== undefined) this.#boundReplaced(node, value);
    if (!SEARCHES.has(name) || value === undefined || needle === undefined) return;
    if (isShort(needle, NEEDLE_LENGTH_MAX)) return;
    const bounded = callNode("bounded_needle", [cloneTree(value), needle]);
    node["children"] = [value, bounded, ...(target === undefined ? [] : [target]), ...others];
    this.count += 1;
  }

  /**
   * Measures what several replacements within each other made, before it is given to another one.
   */
  #boundReplaced(node: TreeNode, value: TreeNode): void {
    const below = growthByReplacements(value, this.#measuredOnce);
    if (below === 1 || below * growthOfReplacement(node) <= STORED_GROWTH_MAX) return;
    const [, ...others] = nodesAt(node, "children");
    const once = callNode("bounded_once", [value, integerNode(VALUE_MADE_MAX / TEXT_MADE_MAX)]);
    this.#measuredOnce.add(once);
    node["children"] = [once, ...others];
    this.count += 1;
  }

  /**
   * What is to be measured. Undefined: the value is made of one such part, or of stored columns.
   */
  #measured(node: TreeNode): Growth | undefined {
    const growth = [...this.#growths.of(node)].filter(([, { node }]) =>
      textAt(node, "class") !== "CONSTANT"
    );
    const isLarge = growth.some(([, { node, usual }]) =>
      usual > (isSized(node) ? SIZED_GROWTH_MAX : STORED_GROWTH_MAX)
    );
    const isMade = isLarge || this.#growths.madeTimes(node, (leaf) => this.#isMade(leaf)) > 1;
    return isMade ? new Map(growth) : undefined;
  }

  /** Whether a leaf is neither a stored column nor of a bounded size. */
  #isMade(leaf: TreeNode): boolean {
    const kind = textAt(leaf, "class");
    if (kind === "CONSTANT" || isSized(leaf)) return false;
    if (kind !== "COLUMN_REF") return true;
    return listAt(leaf, "column_names").some((name) => this.made.has(String(name).toLowerCase()));
  }

  #measure(node: TreeNode, growth: Growth): void {
    this.count += 1;
    const sizes: TreeNode[] = [];
    for (const { node: leaf, usual } of growth.values()) {
      if (!isCopied(leaf)) {
        const once = callNode("bounded_once", [
          { ...leaf, alias: "" },
          integerNode(Math.ceil(usual)),
        ]);
        replaceNode(leaf, { ...once, alias: leaf["alias"] });
        continue;
      }
      const bytes = callNode("bounded_bytes", [cloneTree({ ...leaf, alias: "" })]);
      sizes.push(callNode("*", [bytes, integerNode(Math.ceil(usual))]));
    }
    if (sizes.length === 0) return;
    const size = sizes.reduce((sum, one) => callNode("+", [sum, one]));
    replaceNode(node, caseNode(size, node));
  }

  /**
   * Exchanges a call with a lambda. Its list is measured by what the lambda brings from outside,
   * and lambdas within each other by their number.
   */
  #lambda(node: TreeNode, around: Around): void {
    const name = textAt(node, "function_name").toLowerCase();
    const [list, lambda, ...others] = nodesAt(node, "children");
    if (list === undefined || lambda === undefined || textAt(lambda, "class") !== "LAMBDA") {
      for (const child of childrenOf(node)) this.visit(child, around);
      return;
    }
    const parameters = new Set<string>();
    walk(lambda["lhs"], (one) => {
      for (const column of listAt(one, "column_names")) {
        parameters.add(String(column).toLowerCase());
      }
    });
    const body = nodeAt(lambda, "expr") ?? {};
    const outside = outsideOf(body, parameters);
    const depth = around.lambdas.length + depthBelow(lambda);
    const isMade = !FILTERS.has(name) && makesValue(body, this.#growths);
    const isPlain = depth === 1 && outside.length === 0 && others.length === 0;
    this.visit(list, { ...around, isValue: false });
    this.visit(body, { isValue: false, lambdas: [...around.lambdas, parameters] });
    if (isPlain || others.length > 0) return;
    const bytes = outside.map((leaf) => callNode("bounded_bytes", [leaf]));
    const size = bytes.length === 0
      ? integerNode(0)
      : bytes.reduce((sum, one) => callNode("+", [sum, one]));
    const most = isMade || !FILTERS.has(name) && textAt(body, "class") === "COLUMN_REF"
      ? LAMBDA_COPIED_MAX
      : LAMBDA_READ_MAX;
    const kind = FILTERS.has(name) ? "filter" : "transform";
    Object.assign(node, {
      function_name: `bounded_${kind}_${Math.min(depth, LAMBDA_ELEMENTS_MAX.length)}`,
      schema: "",
      catalog: "",
      children: [list, size, integerNode(most), lambda],
    });
    this.count += 1;
  }
}

function isSized(node: TreeNode): boolean {
  return textAt(node, "class") === "FUNCTION" &&
    SIZED.has(textAt(node, "function_name").toLowerCase());
}

/** How often at most each match of a pattern, or each character, is in its replacement. */
function growthOfReplacement(node: TreeNode): number {
  const name = textAt(node, "function_name").toLowerCase();
  const [, source, target] = nodesAt(node, "children");
  if (!REPLACEMENTS.has(name) || !isShort(target, SHORT_TARGET)) return 1;
  const length = String(nodeAt(target ?? {}, "value")?.["value"] ?? "").length;
  if (name === "regexp_replace") return length + 1;
  const pattern = textAt(source ?? {}, "class") === "CONSTANT"
    ? String(nodeAt(source ?? {}, "value")?.["value"] ?? "").length
    : 1;
  return Math.max(1, length / Math.max(1, pattern));
}

/** How much all replacements within each other make of a value. */
function growthByReplacements(node: TreeNode, measured: ReadonlySet<TreeNode>): number {
  if (measured.has(node)) return 1;
  const below = partsOf(node).map((part) => growthByReplacements(part, measured));
  return growthOfReplacement(node) * Math.max(1, ...below);
}

/** Whether the result is a value of any size. */
function makesValue(node: TreeNode, growths: Growths): boolean {
  const kind = textAt(node, "class");
  if (kind === "FUNCTION") {
    const one = functionClass(textAt(node, "function_name").toLowerCase());
    return one !== undefined && one.kind !== "fixed" && one.kind !== "gathered" &&
      growths.of(node).size > 0;
  }
  return (kind === "CAST" || kind === "CASE" || kind === "OPERATOR" || kind === "COLLATE") &&
    growths.of(node).size > 0;
}

/** Whether a leaf can be written twice, because it is computed once or is at hand. */
function isCopied(leaf: TreeNode): boolean {
  return textAt(leaf, "class") === "COLUMN_REF";
}

/** Columns and parameters of outer lambdas that a lambda's body names. */
function outsideOf(body: TreeNode, parameters: ReadonlySet<string>): TreeNode[] {
  const inner = new Set(parameters);
  walk(body, (node) => {
    if (textAt(node, "class") !== "LAMBDA") return;
    walk(node["lhs"], (one) => {
      for (const name of listAt(one, "column_names")) inner.add(String(name).toLowerCase());
    });
  });
  const found = new Map<string, TreeNode>();
  walk(body, (node) => {
    if (textAt(node, "class") === "SUBQUERY") return false;
    if (textAt(node, "class") !== "COLUMN_REF") return true;
    const names = listAt(node, "column_names").map((name) => String(name).toLowerCase());
    if (!inner.has(names[0] ?? "")) found.set(names.join("."), cloneTree(node));
    return true;
  });
  return [...found.values()];
}

/** How many lambdas are within each other, this one included. */
function depthBelow(node: TreeNode): number {
  const deepest = Math.max(0, ...partsOf(node).map(depthBelow));
  return textAt(node, "class") === "LAMBDA" ? deepest + 1 : deepest;
}

function isShort(node: TreeNode | undefined, lengthMax: number): boolean {
  if (node === undefined || textAt(node, "class") !== "CONSTANT") return false;
  const value = nodeAt(node, "value")?.["value"];
  return typeof value !== "string" || value.length <= lengthMax;
}

/** `CASE WHEN size > VALUE_MADE_MAX THEN error(…) ELSE node END` */
function caseNode(size: TreeNode, node: TreeNode): TreeNode {
  const { alias = "" } = node;
  return {
    class: "CASE",
    type: "CASE_EXPR",
    alias,
    query_location: 0,
    case_checks: [{
      when_expr: compareNode("COMPARE_GREATERTHAN", size, integerNode(VALUE_MADE_MAX)),
      then_expr: callNode("bounded_error", [textNode(nameOf(node))]),
    }],
    else_expr: { ...node, alias: "" },
  };
}

function nameOf(node: TreeNode): string {
  return textAt(node, "function_name") || textAt(node, "type");
}

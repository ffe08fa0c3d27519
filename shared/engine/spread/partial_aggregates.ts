/**
 * What workers compute of an aggregate, and what makes its value of their values. Each rule gives
 * the value that DuckDB's own aggregate has over all rows. Integers, decimals and times are exact;
 * doubles may differ in their last bits.
 */

import {
  callNode,
  castNode,
  coalesceNode,
  compareNode,
  conjunctionNode,
  integerNode,
} from "../statement/tree_nodes.ts";
import { cloneTree, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { Whole } from "./types.ts";

/** What a rule may ask of the statement that the aggregate is in. */
export interface PartialTools {
  /** Adds a column to the worker's, once for equal ones. Returns how the merge names it. */
  readonly partial: (value: TreeNode) => TreeNode;
  /** An aggregate over the rows of all shards that hold partial values. */
  readonly combine: (
    name: string,
    children: readonly TreeNode[],
    like?: { readonly filter?: TreeNode; readonly orders?: readonly TreeNode[] },
  ) => TreeNode;
  /** `sum` of a column over the rows of a group, beside each of them. */
  readonly sumOver: (value: TreeNode) => TreeNode;
  /** DuckDB's type of the argument of an aggregate. */
  readonly typeOf: (argument: TreeNode) => string;
  /** Whether `exact_mean` holds. */
  readonly averages: boolean;
}

/** An aggregate's call, its names replaced by what they stand for. */
interface Call {
  readonly node: TreeNode;
  readonly name: string;
  readonly children: readonly TreeNode[];
  readonly filter: TreeNode | undefined;
  readonly orders: readonly TreeNode[];
}

type Rule = (call: Call, tools: PartialTools) => TreeNode;

/** Returns what the merge has for an aggregate. Throws `Whole` where it has no partial form. */
export function mergedAggregate(node: TreeNode, tools: PartialTools): TreeNode {
  const name = textAt(node, "function_name").toLowerCase();
  const call: Call = {
    node,
    name,
    children: nodesAt(node, "children"),
    filter: nodeAt(node, "filter"),
    orders: nodesAt(nodeAt(node, "order_bys") ?? {}, "orders"),
  };
  const rule = RULES.get(name);
  const isSimple = call.orders.length === 0 || ORDERED.has(name) || ORDERLESS.has(name);
  const isDistinct = node["distinct"] === true && !SETS.has(name);
  const places = ARGUMENTS.get(name) ?? 1;
  if (rule === undefined || !isSimple || isDistinct || call.children.length !== places) {
    throw new Whole(`${name} has no partial form${call.orders.length > 0 ? " with ORDER BY" : ""}`);
  }
  return rule(call, tools);
}

/** Aggregates that give the same with and without DISTINCT. */
export const SETS: ReadonlySet<string> = words(
  "min max bool_and bool_or bit_and bit_or any_value",
);

/** Aggregates of a set of values: the merge computes them of the distinct values. */
export const OF_DISTINCT: ReadonlySet<string> = words(`
  count sum avg mean fsum kahan_sum sumkahan favg product bit_xor var_pop var_samp variance stddev stddev_pop
  stddev_samp sem median mad approx_count_distinct
`);

/** Aggregates whose ORDER BY says which value they take. */
const ORDERED = words("first last any_value arbitrary");

/** Aggregates that have the same value in any order, besides last bits. */
export const ORDERLESS: ReadonlySet<string> = words(`
  count count_star count_if countif sum min max avg mean bool_and bool_or bit_and bit_or bit_xor
`);

/** Aggregates with another number of arguments than one. */
const ARGUMENTS: ReadonlyMap<string, number> = new Map([
  ["count_star", 0],
  ...[
    ..."arg_min arg_max argmin argmax min_by max_by arg_min_null arg_max_null".split(" "),
  ].map((name): [string, number] => [name, 2]),
]);

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...ruled("count_star count", counted),
  // A sum of ones for DuckDB: without a value that is not NULL, it is NULL.
  ...ruled("count_if countif", ({ node }, { partial, combine }) => combine("sum", [partial(node)])),
  ...ruled("sum fsum kahan_sum sumkahan product bool_and bool_or bit_and bit_or bit_xor", alike),
  ...ruled("min max", alike),
  ...ruled("any_value", anyValue),
  ...ruled("first last arbitrary", firstOrLast),
  ...ruled("arg_min argmin min_by", extreme("min", false)),
  ...ruled("arg_max argmax max_by", extreme("max", false)),
  ...ruled("arg_min_null", extreme("min", true)),
  ...ruled("arg_max_null", extreme("max", true)),
  ...ruled("avg mean favg", average),
  ...ruled("var_pop", (call, tools) => deviations(call, tools).populationVariance),
  ...ruled("var_samp variance", (call, tools) => deviations(call, tools).sampleVariance),
  ...ruled("stddev_pop", (call, tools) => rooted(deviations(call, tools).populationVariance)),
  ...ruled(
    "stddev stddev_samp",
    (call, tools) => rooted(deviations(call, tools).sampleVariance),
  ),
  ...ruled("sem", standardError),
]);

function ruled(names: string, rule: Rule): [string, Rule][] {
  return names.split(" ").map((name) => [name, rule]);
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Adds up counts. Over no rows they are 0, not NULL. */
function counted({ node }: Call, { partial, combine }: PartialTools): TreeNode {
  return castNode(coalesceNode([combine("sum", [partial(node)]), integerNode(0)]), "BIGINT");
}

/** The aggregate of the partial values is that of all values. */
function alike({ node, name }: Call, { partial, combine }: PartialTools): TreeNode {
  return combine(name, [partial({ ...node, distinct: false })]);
}

function anyValue(call: Call, tools: PartialTools): TreeNode {
  const value = tools.partial({ ...call.node, distinct: false });
  const [argument = {}] = call.children;
  const keys = keysOf(call, tools, isNotNull(argument));
  return tools.combine("any_value", [value], { orders: keys });
}

/** `first` and its like take a NULL, too: a shard without rows must not count. */
function firstOrLast(call: Call, tools: PartialTools): TreeNode {
  const value = tools.partial(call.node);
  const rows = tools.partial(countOfRows(call));
  const filter = {
    ...compareNode("COMPARE_GREATERTHAN", rows, integerNode(0)),
  };
  return tools.combine(call.name, [value], { filter, orders: keysOf(call, tools) });
}

/** What the taken value of each shard is ordered by. */
function keysOf(
  { name, orders, filter, node }: Call,
  { partial }: PartialTools,
  also?: TreeNode,
): readonly TreeNode[] {
  return orders.map((order) => {
    const conditions = [filter, also].filter((one) => one !== undefined);
    const key = {
      ...callNode(name === "last" ? "last" : "first", [nodeAt(order, "expression") ?? {}], {
        filter: conjunctionNode(conditions.map((one) => cloneTree(one))),
      }),
      order_bys: node["order_bys"],
    };
    return { ...order, expression: partial(key) };
  });
}

/** The value beside the least or greatest key, which each shard gives with its key. */
function extreme(best: "min" | "max", takesNull: boolean): Rule {
  return ({ node, name, children, filter }, { partial, combine }) => {
    const [value = {}, key = {}] = children;
    const conditions = [filter, ...(takesNull ? [] : [isNotNull(value)])]
      .filter((one) => one !== undefined);
    const own = { filter: conjunctionNode(conditions.map((one) => cloneTree(one))) };
    return combine(name, [partial(node), partial(callNode(best, [withNames(key)], own))]);
  };
}

/** A key of several values as a struct whose members have names, as columns on the wire need. */
function withNames(key: TreeNode): TreeNode {
  if (textAt(key, "function_name") !== "row") return key;
  const members = nodesAt(key, "children").map((member, i) => ({ ...member, alias: `k${i}` }));
  return callNode("struct_pack", members);
}

/** A mean by its sum and count, divided as DuckDB divides for the type. */
function average(call: Call, { partial, combine, typeOf, averages }: PartialTools): TreeNode {
  const [value = {}] = call.children;
  const type = typeOf(value);
  const own = { filter: call.filter ?? null };
  const isFloating = type === "DOUBLE" || type === "FLOAT" || call.name === "favg";
  const sum = call.name === "favg" ? "fsum" : "sum";
  const total = combine(sum, [partial(callNode(sum, [value], own))]);
  const values = combine("sum", [partial(callNode("count", [value], own))]);
  if (isFloating) return callNode("/", [total, castNode(values, "DOUBLE")]);
  if (NARROW.has(type)) {
    return callNode("/", [castNode(total, "DOUBLE"), castNode(values, "DOUBLE")]);
  }
  if (!WIDE.has(type)) throw new Whole(`${call.name} of ${type} has no partial form`);
  if (!averages) throw new Whole(`averages of ${type} cannot be divided alike on this processor`);
  return callNode("exact_mean", [castNode(total, "HUGEINT"), castNode(values, "BIGINT")]);
}

/** Integers whose sum DuckDB divides as a double. */
const NARROW = words("TINYINT SMALLINT INTEGER UTINYINT USMALLINT");

/** Integers whose sum DuckDB divides as a `long double`. */
const WIDE = words("BIGINT HUGEINT UINTEGER UBIGINT");

interface Deviations {
  readonly populationVariance: TreeNode;
  readonly sampleVariance: TreeNode;
  readonly values: TreeNode;
}

/**
 * Squared deviations of all values, by those within each shard and those of the shards' means from
 * the mean of all (Chan, Golub and LeVeque 1979).
 */
function deviations(call: Call, { partial, combine, sumOver }: PartialTools): Deviations {
  const [value = {}] = call.children;
  const own = { filter: call.filter ?? null };
  const number = castNode(value, "DOUBLE");
  const count = castNode(partial(callNode("count", [value], own)), "DOUBLE");
  const mean = partial(callNode("avg", [number], own));
  const within = callNode("*", [partial(callNode("var_pop", [number], own)), count]);
  const all = callNode("/", [sumOver(callNode("*", [mean, count])), sumOver(count)]);
  const off = callNode("-", [mean, all]);
  const between = callNode("*", [count, callNode("*", [off, cloneTree(off)])]);
  const squares = combine("sum", [callNode("+", [within, between])]);
  const values = combine("sum", [cloneTree(count)]);
  const others = callNode("nullif", [callNode("-", [values, integerNode(1)]), integerNode(0)]);
  return {
    populationVariance: callNode("/", [squares, cloneTree(values)]),
    sampleVariance: callNode("/", [cloneTree(squares), others]),
    values: cloneTree(values),
  };
}

function standardError(call: Call, tools: PartialTools): TreeNode {
  const { populationVariance, values } = deviations(call, tools);
  return callNode("/", [rooted(populationVariance), rooted(values)]);
}

function rooted(value: TreeNode): TreeNode {
  return callNode("sqrt", [value]);
}

function countOfRows({ filter }: Call): TreeNode {
  return callNode("count_star", [], { filter: filter ?? null });
}

function isNotNull(value: TreeNode): TreeNode {
  return {
    class: "OPERATOR",
    type: "OPERATOR_IS_NOT_NULL",
    alias: "",
    query_location: 0,
    children: [cloneTree(value)],
  };
}

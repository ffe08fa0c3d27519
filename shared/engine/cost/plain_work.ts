/**
 * Tells whether a statement only compares, counts and adds up what it reads, for its price. Such a
 * row costs some nanoseconds, while anything else that is done with one may cost any amount.
 *
 * The list is closed: a clause, a function or a kind of expression that is not known to be quick is
 * no such work.
 */

import {
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";
import { conjuncts, isTimeBound } from "../bounds/time_bounds.ts";

/** What is known of plain work. */
export interface PlainWork {
  /** Lower-cased names of what tells groups apart: columns, and perhaps other names. */
  readonly grouped: ReadonlySet<string>;
}

/**
 * Returns the work of a statement that makes groups, or one row, of the rows of one table.
 * Undefined: it does something else.
 */
export function plainWork(root: TreeNode): PlainWork | undefined {
  const table = nodeAt(root, "from_table");
  if (table === undefined || !hasPlainClauses(root, table)) return undefined;
  const where = nodeAt(root, "where_clause");
  const conditions = where === undefined ? [] : conjuncts(where);
  const work = new Work();
  const isPlain = conditions.every((one) => isTimeBound(one, table) || work.isPlainOfRow(one)) &&
    nodesAt(root, "group_expressions").every((one) => work.isPlainOfRow(one)) &&
    expressionsOfGroups(root).every((one) => work.isPlainOfGroup(one));
  return isPlain && (work.hasAggregate || makesGroups(root))
    ? { grouped: work.grouped }
    : undefined;
}

/** Whether it is one SELECT over one table that goes through its rows once. */
function hasPlainClauses(root: TreeNode, table: TreeNode): boolean {
  return textAt(root, "type") === "SELECT_NODE" && textAt(table, "type") === "BASE_TABLE" &&
    [nodeAt(table, "sample"), nodeAt(root, "sample"), nodeAt(root, "qualify")]
      .every((clause) => clause === undefined) &&
    nodesAt(nodeAt(root, "cte_map") ?? {}, "map").length === 0 &&
    listAt(root, "group_sets").length <= 1 &&
    nodesAt(root, "modifiers").every(isPlainModifier);
}

function isPlainModifier(modifier: TreeNode): boolean {
  switch (textAt(modifier, "type")) {
    case "DISTINCT_MODIFIER":
      return listAt(modifier, "distinct_on_targets").length === 0;
    case "LIMIT_MODIFIER":
      return operandsOf(modifier).every((operand) => textAt(operand, "class") === "CONSTANT");
    default:
      return textAt(modifier, "type") === "ORDER_MODIFIER";
  }
}

function makesGroups(root: TreeNode): boolean {
  return nodesAt(root, "group_expressions").length > 0 ||
    textAt(root, "aggregate_handling") === "FORCE_AGGREGATES" ||
    nodesAt(root, "modifiers").some((one) => textAt(one, "type") === "DISTINCT_MODIFIER");
}

/** Returns the expressions that are asked of each group. */
function expressionsOfGroups(root: TreeNode): readonly TreeNode[] {
  const having = nodeAt(root, "having");
  const orders = nodesAt(root, "modifiers").flatMap((modifier) => nodesAt(modifier, "orders"));
  return [
    ...nodesAt(root, "select_list"),
    ...(having === undefined ? [] : [having]),
    ...orders.map((order) => nodeAt(order, "expression") ?? {}),
  ];
}

const AGGREGATES: ReadonlySet<string> = new Set([
  "avg",
  "count",
  "count_star",
  "max",
  "mean",
  "min",
  "sum",
]);

const OPERATORS: ReadonlySet<string> = new Set([
  "COMPARE_IN",
  "COMPARE_NOT_IN",
  "OPERATOR_IS_NOT_NULL",
  "OPERATOR_IS_NULL",
  "OPERATOR_NOT",
]);

/** Collects what the expressions of one statement do. */
class Work {
  readonly grouped = new Set<string>();
  hasAggregate = false;

  /** Whether an expression that is evaluated for each row is plain work. */
  isPlainOfRow(node: TreeNode): boolean {
    switch (textAt(node, "class")) {
      case "COLUMN_REF":
      case "CONSTANT":
        return true;
      case "CAST":
        return textAt(nodeAt(node, "child") ?? {}, "class") === "CONSTANT";
      case "BETWEEN":
      case "COMPARISON":
      case "CONJUNCTION":
        return operandsOf(node).every((operand) => this.isPlainOfRow(operand));
      case "OPERATOR":
        return OPERATORS.has(textAt(node, "type")) &&
          operandsOf(node).every((operand) => this.isPlainOfRow(operand));
      default:
        return false;
    }
  }

  /**
   * Whether an expression that is evaluated for each group is plain work. Any function of what
   * aggregates give is; what they take is evaluated for each row. `inCall`: the expression stands
   * within a function, a CASE or a cast.
   */
  isPlainOfGroup(node: TreeNode, { inCall = false } = {}): boolean {
    switch (textAt(node, "class")) {
      case "CONSTANT":
        return true;
      case "COLUMN_REF":
        for (const name of listAt(node, "column_names")) {
          this.grouped.add(String(name).toLowerCase());
        }
        // GROUP BY may name the call by its place.
        return !inCall;
      case "FUNCTION":
        return isAggregate(node) ? this.#isPlainAggregate(node) : this.#arePlain(node, true);
      case "CASE":
      case "CAST":
        return this.#arePlain(node, true);
      case "BETWEEN":
      case "COMPARISON":
      case "CONJUNCTION":
      case "OPERATOR":
        return this.#arePlain(node, inCall);
      default:
        return false;
    }
  }

  #arePlain(node: TreeNode, inCall: boolean): boolean {
    return operandsOf(node).every((operand) => this.isPlainOfGroup(operand, { inCall }));
  }

  #isPlainAggregate(node: TreeNode): boolean {
    this.hasAggregate = true;
    return node["distinct"] !== true &&
      nodesAt(nodeAt(node, "order_bys") ?? {}, "orders").length === 0 &&
      operandsOf(node).every((operand) => this.isPlainOfRow(operand));
  }
}

function isAggregate(call: TreeNode): boolean {
  return AGGREGATES.has(textAt(call, "function_name").toLowerCase());
}

/** Returns the nearest expressions below one. */
function operandsOf(node: TreeNode): readonly TreeNode[] {
  return Object.values(node).flatMap((value) => Array.isArray(value) ? value : [value])
    .filter(isNode)
    .flatMap((below) => typeof below["class"] === "string" ? [below] : operandsOf(below));
}

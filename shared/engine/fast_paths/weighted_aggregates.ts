/**
 * Aggregates over weighted rows. An aggregate that counts rows adds up weights. One that measures a
 * column combines the measures that weighted rows have of it. One that only asks which values there
 * are stays as it is.
 */

import type { Column } from "../../schema/schema.ts";
import { AGGREGATE_FUNCTIONS } from "../gate/allowed_functions.ts";
import { nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { Aside } from "./step_aside.ts";
import { callNode, columnNode, countNode, ifPresentNode } from "../statement/tree_nodes.ts";
import { SET_AGGREGATES } from "./weighted_functions.ts";

/** How many rows a weighted row stands for. */
export const WEIGHT = "#rows";

export type MeasurePart = "values" | "sum" | "smallest" | "largest";

/** Name of a measured column's part in a weighted row. */
export function measureName(part: MeasurePart, column: Column): string {
  return `#${part} of ${column.name}`;
}

/** What weighted rows must have of a column besides the column itself. */
export interface Measure {
  readonly column: Column;
  readonly parts: ReadonlySet<MeasurePart>;
  /** Whether it is averaged, which is exact only within bounds (`exact_measures.ts`). */
  readonly isAveraged: boolean;
}

/** The statement that the aggregates are in. */
export interface AggregateContext {
  /** The table's column that a node names. Undefined: it names none. */
  readonly columnOf: (node: TreeNode) => Column | undefined;
  /** Whether weighted rows have the column itself. */
  readonly isUsed: (column: Column) => boolean;
  /** Rewrites an expression of a row for a weighted row. Throws `Aside`. */
  readonly rewrite: (node: TreeNode) => TreeNode;
  /** Is told of arguments, which are evaluated for each row of a group. */
  readonly direct: (node: TreeNode) => void;
}

type Filtered = Pick<TreeNode, "filter">;

interface MutableMeasure {
  readonly column: Column;
  readonly parts: Set<MeasurePart>;
  isAveraged: boolean;
}

/** The aggregates of one statement. */
export class Aggregates {
  readonly #context: AggregateContext;
  readonly #measures = new Map<number, MutableMeasure>();

  constructor(context: AggregateContext) {
    this.#context = context;
  }

  /** What weighted rows need for all aggregates that were rewritten; by id of the column. */
  get measures(): readonly Measure[] {
    return [...this.#measures.values()].sort((a, b) => a.column.id - b.column.id);
  }

  /** Rewrites a call of an aggregate for weighted rows. Throws `Aside`. */
  rewrite(node: TreeNode): TreeNode {
    const name = textAt(node, "function_name").toLowerCase();
    if (nodesAt(nodeAt(node, "order_bys") ?? {}, "orders").length > 0) {
      throw new Aside(`${name} has an ORDER BY`);
    }
    const filter = nodeAt(node, "filter");
    const own = { filter: filter === undefined ? null : this.#context.rewrite(filter) };
    return { ...this.#callOf(name, node, own), alias: node["alias"] };
  }

  #callOf(name: string, node: TreeNode, own: Filtered): TreeNode {
    const [argument, ...more] = nodesAt(node, "children");
    const weight = columnNode(WEIGHT);
    if (name === "count_star" || (name === "count" && argument === undefined)) {
      return countNode(callNode("sum", [weight], own));
    }
    if (argument === undefined || more.length > 0 || isAggregate(argument)) {
      throw new Aside(`it calls ${name} in a way of its own`);
    }
    this.#context.direct(argument);
    const isDistinct = node["distinct"] === true;
    const measured = isDistinct ? undefined : this.#measured(argument);
    const call = measured === undefined ? undefined : this.#measuring(name, measured, own);
    if (call !== undefined) return call;
    if (SET_AGGREGATES.has(name) || (name === "count" && isDistinct)) {
      return { ...node, ...own, children: [this.#context.rewrite(argument)] };
    }
    if (name !== "count") throw new Aside(`it calls ${name}`);
    const value = this.#context.rewrite(argument);
    return countNode(callNode("sum", [ifPresentNode(value, weight)], own));
  }

  /**
   * The column that an aggregate's argument is, where the weighted rows can have measures of it.
   */
  #measured(argument: TreeNode): Column | undefined {
    const column = this.#context.columnOf(argument);
    if (column === undefined || column.type === "string" || column.type === "bool") {
      return undefined;
    }
    return this.#context.isUsed(column) ? undefined : column;
  }

  /** An aggregate of measures. undefined: no measure gives it. */
  #measuring(name: string, column: Column, own: Filtered): TreeNode | undefined {
    const call = (aggregate: string, part: MeasurePart) =>
      callNode(aggregate, [columnNode(this.#part(column, part))], own);
    if (name === "min") return call("min", "smallest");
    if (name === "max") return call("max", "largest");
    if (name === "count") return countNode(call("sum", "values"));
    if (column.type === "timestamptz") return undefined;
    if (name === "sum") return call("sum", "sum");
    if (name !== "avg") return undefined;
    const terms = [call("sum", "sum"), call("sum", "values")];
    this.#measure(column).isAveraged = true;
    return callNode(column.type === "double" ? "/" : "exact_average", terms);
  }

  #part(column: Column, part: MeasurePart): string {
    this.#measure(column).parts.add(part);
    return measureName(part, column);
  }

  #measure(column: Column): MutableMeasure {
    const known = this.#measures.get(column.id) ??
      { column, parts: new Set<MeasurePart>(), isAveraged: false };
    if (known.column.name !== column.name) {
      throw new Aside(`it measures ${known.column.name} and ${column.name}, which are the same`);
    }
    this.#measures.set(column.id, known);
    return known;
  }
}

/** Whether a node is a call of an aggregate of DuckDB. */
export function isAggregate(node: TreeNode): boolean {
  return textAt(node, "class") === "FUNCTION" &&
    AGGREGATE_FUNCTIONS.has(textAt(node, "function_name").toLowerCase());
}

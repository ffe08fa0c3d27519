/**
 * Cuts a SELECT that makes one row of many. Each worker gives a row for each of its groups, with
 * partial values of the aggregates. The merge groups these rows once more.
 *
 * An aggregate of distinct values has its argument among the groups, so a worker gives each value
 * once. With one such argument, all partial values are by it. With several, a worker has a
 * grouping set for each argument and one for the partial values. The column of `kind` tells these
 * sets apart.
 */

import { callNode, conjunctionNode, integerNode, selectNode } from "../statement/tree_nodes.ts";
import { cloneTree, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { CutSelect } from "./cut_select.ts";
import { contains, isAggregateCall } from "./find_cut.ts";
import { aggregatesOf, type Clauses, clausesOf, type Group, groupsOf } from "./group_clauses.ts";
import { DistinctSets, isOfDistinct } from "./distinct_sets.ts";
import { mergedAggregate, type PartialTools } from "./partial_aggregates.ts";
import { lambdaParameters } from "./source_scope.ts";
import {
  groupingNode,
  isClass,
  mapTree,
  named,
  namesOf,
  partNode,
  partsNode,
  starNode,
  subqueryNode,
  sumOverNode,
  unnamed,
} from "./tree_parts.ts";
import { type Halves, PARTS_TABLE, Unsplit, Whole } from "./types.ts";

/** Throws `Unsplit`, and `Whole` where an aggregate needs all rows at one place. */
export async function splitGroups(cut: CutSelect): Promise<Halves> {
  const { select } = cut;
  if (!cut.isPlain) throw new Whole("a star or unnest stands beside aggregates");
  if (
    contains([select["select_list"], select["group_expressions"], select["modifiers"]], isCollate)
  ) {
    throw new Unsplit("it has a COLLATE beside aggregates");
  }
  const groups = groupsOf(cut);
  const clauses = clausesOf(cut, groups.list);
  const calls = aggregatesOf(clauses);
  const averaged = calls.flatMap((call) => isAverage(call) ? nodesAt(call, "children") : []);
  const types = await cut.typesOf(averaged.map(unnamed));
  const typeOf = new Map(averaged.map((value, i) => [cut.scope.keyOf(value), types[i] ?? ""]));
  const distinct = new DistinctSets(cut, { ...groups, calls });
  return new GroupSplit(cut, { ...groups, distinct, typeOf }).halves(clauses);
}

function isCollate(node: TreeNode): boolean {
  return isClass(node, "COLLATE");
}

function isAverage(call: TreeNode): boolean {
  return ["avg", "mean", "favg"].includes(textAt(call, "function_name").toLowerCase()) &&
    nodesAt(call, "children").length === 1;
}

/** A column of the worker's. */
interface WorkerColumn {
  readonly name: string;
  readonly node: TreeNode;
}

interface GroupPlan {
  readonly list: readonly Group[];
  /** Grouping sets, as indexes of `list`; none: all rows are one group. */
  readonly sets: readonly (readonly number[])[];
  readonly distinct: DistinctSets;
  /** By key of an average's argument, its type. */
  readonly typeOf: ReadonlyMap<string, string>;
}

class GroupSplit {
  readonly #cut: CutSelect;
  readonly #plan: GroupPlan;
  /** Columns beside groups and distinct arguments, by key of their expression. */
  readonly #partials = new Map<string, WorkerColumn>();
  /** Calls of GROUPING, and which set a row is of; by key. */
  readonly #groupings = new Map<string, WorkerColumn>();
  /** What each row of all shards has besides. */
  readonly #beside = new Map<string, WorkerColumn>();
  #places: number;

  constructor(cut: CutSelect, plan: GroupPlan) {
    this.#cut = cut;
    this.#plan = plan;
    this.#places = plan.distinct.places;
    if (plan.sets.length <= 1) return;
    if (plan.list.some(({ isConstant }) => isConstant)) throw new Whole("it groups by a constant");
    this.#grouping(groupingNode(plan.list.map(({ node }) => cloneTree(node))));
  }

  halves({ items, where, having, qualify, modifiers }: Clauses): Halves {
    const list = items.map((item, i) =>
      named(this.#merged(item), this.#cut.columns[i]?.name ?? "")
    );
    // Calls are looked for first: what they need of a worker decides its columns.
    const merged = {
      modifiers: modifiers.map((modifier) => this.#modifier(modifier)),
      having: having === undefined ? null : this.#merged(having),
      qualify: qualify === undefined ? null : this.#merged(qualify),
    };
    const keys = this.#keys();
    if (keys.length === 0 && !contains([list, merged.having, merged.modifiers], isAggregateCall)) {
      throw new Unsplit("it makes one row without an aggregate");
    }
    const isOrdered = ["ORDER_MODIFIER", "LIMIT_MODIFIER"].every((type) =>
      modifiers.some((modifier) => textAt(modifier, "type") === type)
    );
    return {
      mode: isOrdered ? "ordered_aggregate" : "aggregate",
      worker: this.#worker(where),
      merge: selectNode(list, this.#parts(), {
        ...merged,
        group_expressions: keys,
        group_sets: keys.length === 0 ? [] : [keys.map((_, i) => i)],
      }),
    };
  }

  #worker(where: TreeNode | null): TreeNode {
    const { list, sets, distinct } = this.#plan;
    const kind = distinct.kind;
    const own = [
      ...list.map(({ node, name }) => named(cloneTree(node), name)),
      ...distinct.columns.flatMap(({ node, name, value }) => [
        named(cloneTree(node), name),
        ...(value === undefined ? [] : [named(cloneTree(value.node), value.name)]),
      ]),
      ...[...this.#groupings.values(), ...this.#partials.values()]
        .map(({ node, name }) => named(cloneTree(node), name)),
    ];
    if (kind !== undefined) own.push(named(cloneTree(kind.node), kind.name));
    if (own.length === 0) own.push(named(integerNode(1), this.#cut.nameOf(0)));
    return {
      ...this.#cut.select,
      select_list: own,
      where_clause: where,
      group_expressions: [
        // An integer would be a place in the select list.
        ...list.map(({ node, isConstant }, i) => isConstant ? integerNode(i + 1) : unnamed(node)),
        ...distinct.columns.map(({ node }) => unnamed(node)),
      ],
      group_sets: distinct.workerSets(sets),
      aggregate_handling: "STANDARD_HANDLING",
      having: null,
      qualify: null,
      modifiers: [],
    };
  }

  /** What merged rows are grouped by. */
  #keys(): TreeNode[] {
    return [...this.#plan.list, ...this.#groupings.values()].map(({ name }) => partNode(name));
  }

  /** The rows of all shards, with what each of them has besides. */
  #parts(): TreeNode {
    if (this.#beside.size === 0) return partsNode();
    const beside = [...this.#beside.values()].map(({ name, node }) => named(node, name));
    return subqueryNode(selectNode([starNode(), ...beside], partsNode()), PARTS_TABLE);
  }

  #modifier(modifier: TreeNode): TreeNode {
    const place = (expression: TreeNode) => {
      const index = this.#cut.outputOf(expression);
      if (index !== undefined) return integerNode(index + 1);
      return this.#merged(this.#cut.scope.inlined(expression));
    };
    switch (textAt(modifier, "type")) {
      case "ORDER_MODIFIER":
        return {
          ...modifier,
          orders: nodesAt(modifier, "orders").flatMap((order) => {
            const expression = nodeAt(order, "expression") ?? {};
            return isClass(expression, "STAR")
              ? this.#cut.items.map((_, i) => ({ ...order, expression: integerNode(i + 1) }))
              : [{ ...order, expression: place(expression) }];
          }),
        };
      case "DISTINCT_MODIFIER":
        return {
          ...modifier,
          distinct_on_targets: nodesAt(modifier, "distinct_on_targets").map(place),
        };
      default:
        return modifier;
    }
  }

  /** An expression of groups and aggregates over the rows of all shards. */
  #merged(expression: TreeNode): TreeNode {
    const { scope } = this.#cut;
    const parameters = lambdaParameters(expression);
    const groups = new Map(this.#plan.list.map(({ key, name }) => [key, name]));
    return mapTree(expression, (node) => {
      if (typeof node["class"] !== "string") return undefined;
      const group = groups.get(scope.keyOf(node));
      // A member of a struct keeps its name.
      const alias = textAt(node, "alias");
      if (group !== undefined) return named(partNode(group), alias);
      if (textAt(node, "type") === "GROUPING_FUNCTION") return named(this.#grouping(node), alias);
      if (isAggregateCall(node)) return named(this.#aggregate(scope.inlined(node)), alias);
      if (isClass(node, "SUBQUERY")) {
        const child = nodeAt(node, "child");
        return { ...cloneTree(node), child: child === undefined ? null : this.#merged(child) };
      }
      if (!isClass(node, "COLUMN_REF")) return undefined;
      const [name = ""] = namesOf(node);
      if (parameters.has(name.toLowerCase())) return cloneTree(node);
      throw new Whole(`column ${namesOf(node).join(".")} stands outside of groups`);
    });
  }

  #aggregate(call: TreeNode): TreeNode {
    const { distinct } = this.#plan;
    if (isOfDistinct(call)) {
      const { name, condition } = distinct.columnOf(call);
      return {
        ...cloneTree(call),
        children: [partNode(name), ...nodesAt(call, "children").slice(1).map(cloneTree)],
        filter: condition ?? null,
      };
    }
    return mergedAggregate(call, this.#tools());
  }

  #tools(): PartialTools {
    const { distinct, typeOf } = this.#plan;
    const { scope, averages } = this.#cut;
    return {
      averages,
      typeOf: (argument) => typeOf.get(scope.keyOf(argument)) ?? "",
      partial: (node) => partNode(this.#column(this.#partials, node)),
      combine: (name, children, { filter, orders = [] } = {}) => {
        const conditions = [filter, distinct.partialRows()].filter((one) => one !== undefined);
        return {
          ...callNode(name, children, { filter: conjunctionNode(conditions) }),
          order_bys: { type: "ORDER_MODIFIER", orders: [...orders] },
        };
      },
      sumOver: (value) => {
        const kind = distinct.kind;
        const keys = [...this.#keys(), ...(kind === undefined ? [] : [partNode(kind.name)])];
        return partNode(this.#column(this.#beside, sumOverNode(value, keys)));
      },
    };
  }

  #grouping(node: TreeNode): TreeNode {
    return partNode(this.#column(this.#groupings, node));
  }

  #column(columns: Map<string, WorkerColumn>, node: TreeNode): string {
    const key = this.#cut.scope.keyOf(node);
    const known = columns.get(key);
    if (known !== undefined) return known.name;
    const name = this.#cut.nameOf(this.#places++);
    columns.set(key, { name, node: unnamed(node) });
    return name;
  }
}

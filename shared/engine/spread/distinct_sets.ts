/** Aggregates of distinct values: which columns a worker groups by for them. */

import { ifPresentNode, integerNode } from "../fast_paths/tree_nodes.ts";
import { cloneTree, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { CutSelect } from "./cut_select.ts";
import type { Group } from "./group_clauses.ts";
import { OF_DISTINCT, SETS } from "./partial_aggregates.ts";
import { compareNode, groupingNode, partNode } from "./tree_parts.ts";
import { Whole } from "./types.ts";

/** An argument of which each group has every value once. */
interface DistinctColumn {
  readonly node: TreeNode;
  readonly key: string;
  readonly name: string;
}

/** The column that says by which argument a worker's row is. */
interface KindColumn {
  readonly node: TreeNode;
  readonly name: string;
}

type GroupingSets = readonly (readonly number[])[];

/** Whether a call is computed of distinct values in the merge. */
export function isOfDistinct(call: TreeNode): boolean {
  const name = textAt(call, "function_name").toLowerCase();
  return name === "approx_count_distinct" || (call["distinct"] === true && !SETS.has(name));
}

/** What a call takes the distinct values of: NULL where its FILTER leaves a row out. */
export function argumentOf(call: TreeNode): TreeNode {
  const [argument = {}] = nodesAt(call, "children");
  const filter = nodeAt(call, "filter");
  if (filter === undefined) return cloneTree(argument);
  const chosen = ifPresentNode(cloneTree(filter), cloneTree(argument));
  return {
    ...chosen,
    case_checks: [{ when_expr: cloneTree(filter), then_expr: cloneTree(argument) }],
  };
}

/** How a worker groups by distinct arguments besides its groups. */
export class DistinctSets {
  readonly columns: readonly DistinctColumn[];
  /** Undefined: all rows are alike. */
  readonly kind: KindColumn | undefined;
  readonly #groups: readonly Group[];

  /** Throws `Whole` where the arguments cannot be groups. */
  constructor(
    cut: CutSelect,
    { list, sets, calls }: {
      readonly list: readonly Group[];
      readonly sets: GroupingSets;
      readonly calls: readonly TreeNode[];
    },
  ) {
    this.#groups = list;
    const wanted = new Map<string, TreeNode>();
    for (const call of calls.map((one) => cut.scope.inlined(one)).filter(isOfDistinct)) {
      checkCall(call);
      const argument = argumentOf(call);
      wanted.set(cut.scope.keyOf(argument), argument);
    }
    const groups = new Set(list.map(({ key }) => key));
    if (sets.length > 1 && [...wanted.keys()].some((key) => groups.has(key))) {
      throw new Whole("it counts distinct values of what its grouping sets group by");
    }
    this.columns = [...wanted].filter(([key]) => !groups.has(key))
      .map(([key, node], i) => ({ key, node, name: cut.nameOf(list.length + i) }));
    if (this.columns.length > ARGUMENTS_MAX) throw new Whole("it has many DISTINCT arguments");
    if (this.columns.length === 0 || (this.columns.length === 1 && sets.length <= 1)) return;
    const node = groupingNode(this.columns.map((column) => cloneTree(column.node)));
    this.kind = { node, name: cut.nameOf(list.length + this.columns.length) };
  }

  /** The grouping sets of a worker. */
  workerSets(sets: GroupingSets): GroupingSets {
    const places = this.columns.map((_, i) => this.#groups.length + i);
    const own = sets.length === 0 ? [[]] : sets;
    if (this.kind !== undefined) {
      return own.flatMap((set) => [set, ...places.map((place) => [...set, place])]);
    }
    return places.length === 0 ? sets : own.map((set) => [...set, ...places]);
  }

  /** Which rows hold partial values; undefined: all of them. */
  partialRows(): TreeNode | undefined {
    return this.#rowsOf(2 ** this.columns.length - 1);
  }

  /** The worker's column of an argument, and which rows hold its values; undefined: all of them. */
  columnOf(key: string): { readonly name: string; readonly condition: TreeNode | undefined } {
    const group = this.#groups.find((one) => one.key === key);
    if (group !== undefined) return { name: group.name, condition: undefined };
    const index = this.columns.findIndex((column) => column.key === key);
    const name = this.columns[index]?.name;
    if (name === undefined) throw new Whole("it has a DISTINCT argument of an unknown kind");
    const last = this.columns.length - 1;
    return { name, condition: this.#rowsOf(2 ** this.columns.length - 1 - 2 ** (last - index)) };
  }

  /** GROUPING has a bit for each argument that a row is not grouped by; the last one's is 1. */
  #rowsOf(bits: number): TreeNode | undefined {
    if (this.kind === undefined) return undefined;
    return compareNode("COMPARE_EQUAL", partNode(this.kind.name), integerNode(bits));
  }
}

/** Each argument takes a bit of `kind` and a grouping set. */
const ARGUMENTS_MAX = 8;

function checkCall(call: TreeNode): void {
  const name = textAt(call, "function_name").toLowerCase();
  const orders = nodesAt(nodeAt(call, "order_bys") ?? {}, "orders");
  const isKnown = OF_DISTINCT.has(name) && nodesAt(call, "children").length === 1;
  if (!isKnown || orders.length > 0) throw new Whole(`${name}(DISTINCT …) has no partial form`);
}

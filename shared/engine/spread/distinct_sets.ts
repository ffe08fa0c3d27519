/**
 * Aggregates of distinct values: which columns a worker groups by for them.
 *
 * `approx_count_distinct` needs 64 values at most. DuckDB's sketch (HyperLogLog, 1.5.5) has 64
 * registers. The lower six bits of a value's hash say in which register it counts. The zeros at the
 * end of the others say how much, and a register keeps the most. So a worker gives, for each
 * register, a value that counts most. The sketch of these values is the sketch of all.
 */

import {
  callNode,
  castNode,
  compareNode,
  ifPresentNode,
  integerNode,
} from "../statement/tree_nodes.ts";
import { cloneTree, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { CutSelect } from "./cut_select.ts";
import type { Group } from "./group_clauses.ts";
import { OF_DISTINCT, SETS } from "./partial_aggregates.ts";
import type { SourceScope } from "./source_scope.ts";
import { groupingNode, partNode } from "./tree_parts.ts";
import { Whole } from "./types.ts";

/** An argument of which each group has every value once. */
interface DistinctColumn {
  readonly key: string;
  /** What a worker groups by. */
  readonly node: TreeNode;
  readonly name: string;
  /** The value of a group, where that is not what it is grouped by. */
  readonly value: { readonly node: TreeNode; readonly name: string } | undefined;
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
  return isSketch(call) || (call["distinct"] === true && !SETS.has(name));
}

function isSketch(call: TreeNode): boolean {
  return textAt(call, "function_name").toLowerCase() === "approx_count_distinct";
}

/** What a call takes the distinct values of: NULL where its FILTER leaves a row out. */
function argumentOf(call: TreeNode): TreeNode {
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
  readonly #scope: SourceScope;

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
    this.#scope = cut.scope;
    const wanted = new Map<string, TreeNode>();
    for (const call of calls.map((one) => cut.scope.inlined(one)).filter(isOfDistinct)) {
      checkCall(call);
      wanted.set(this.#keyOf(call), call);
    }
    const groups = new Set(list.map(({ key }) => key));
    if (sets.length > 1 && [...wanted.keys()].some((key) => groups.has(key))) {
      throw new Whole("it counts distinct values of what its grouping sets group by");
    }
    this.columns = [...wanted].filter(([key]) => !groups.has(key)).map(([key, call], i) => {
      const argument = argumentOf(call);
      const name = cut.nameOf(list.length + 2 * i);
      if (!isSketch(call)) return { key, node: argument, name, value: undefined };
      const value = { node: greatestOf(argument), name: cut.nameOf(list.length + 2 * i + 1) };
      return { key, node: registerOf(argument), name, value };
    });
    if (this.columns.length > ARGUMENTS_MAX) throw new Whole("it has many DISTINCT arguments");
    if (this.columns.length === 0 || (this.columns.length === 1 && sets.length <= 1)) return;
    const node = groupingNode(this.columns.map((column) => cloneTree(column.node)));
    this.kind = { node, name: cut.nameOf(list.length + 2 * this.columns.length) };
  }

  /** Names of the worker's columns that are taken, by their number. */
  get places(): number {
    return this.#groups.length + 2 * this.columns.length + 1;
  }

  #keyOf(call: TreeNode): string {
    const key = this.#scope.keyOf(argumentOf(call));
    return isSketch(call) ? `sketch of ${key}` : key;
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

  /** The worker's column of a call's values, and which rows hold them; undefined: all of them. */
  columnOf(call: TreeNode): { readonly name: string; readonly condition: TreeNode | undefined } {
    const key = this.#keyOf(call);
    const group = this.#groups.find((one) => one.key === key);
    if (group !== undefined) return { name: group.name, condition: undefined };
    const index = this.columns.findIndex((column) => column.key === key);
    const column = this.columns[index];
    if (column === undefined) throw new Whole("it has a DISTINCT argument of an unknown kind");
    const last = this.columns.length - 1;
    return {
      name: column.value?.name ?? column.name,
      condition: this.#rowsOf(2 ** this.columns.length - 1 - 2 ** (last - index)),
    };
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

/** The register of DuckDB's sketch in which a value counts. */
function registerOf(value: TreeNode): TreeNode {
  return callNode("&", [callNode("hash", [cloneTree(value)]), integerNode(63)]);
}

/** The value that counts most. */
function greatestOf(value: TreeNode): TreeNode {
  const shifted = callNode(">>", [callNode("hash", [cloneTree(value)]), integerNode(6)]);
  // A bit beyond those of the hash, so that the zeros end.
  const end = callNode("<<", [castNode(integerNode(1), "UBIGINT"), integerNode(58)]);
  const bits = callNode("|", [shifted, end]);
  const zeros = callNode("xor", [bits, callNode("-", [cloneTree(bits), integerNode(1)])]);
  return callNode("arg_max", [cloneTree(value), callNode("bit_count", [zeros])]);
}

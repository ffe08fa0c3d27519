/**
 * Cuts a SELECT without groups: each worker gives its rows, or its first rows in the statement's
 * order, and they are put in order once more. What rows are ordered by and do not show is a column
 * of its own.
 */

import { integerNode, selectNode } from "../statement/tree_nodes.ts";
import {
  integerConstant,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";
import { contains } from "./find_cut.ts";
import type { CutSelect } from "./cut_select.ts";
import {
  isClass,
  named,
  partNode,
  partsNode,
  starNode,
  subqueryNode,
  unnamed,
} from "./tree_parts.ts";
import { type Halves, Unsplit, Whole } from "./types.ts";

/** Throws `Unsplit`, and `Whole` where the first rows of each shard would not do. */
export function splitRows(cut: CutSelect): Halves {
  const { select } = cut;
  if (collatesWithin(select)) throw new Unsplit("it has a COLLATE within an expression");
  const rows = new RowsOfWorker(cut);
  const modifiers = nodesAt(select, "modifiers").map((modifier) => rows.modifier(modifier));
  const limits = limitOf(cut);
  const isDistinct = modifiers.some(({ merge }) => textAt(merge, "type") === "DISTINCT_MODIFIER");
  const isOrdered = modifiers.some(({ merge }) => textAt(merge, "type") === "ORDER_MODIFIER");
  const kept = modifiers.filter(({ merge }) => {
    const type = textAt(merge, "type");
    if (type === "LIMIT_MODIFIER") return false;
    // Nobody sees in which order a worker's rows come unless it gives the first of them alone.
    return type === "DISTINCT_MODIFIER" || limits.rows !== undefined || isDistinct;
  }).map(({ worker }) => worker);
  if (limits.rows !== undefined) kept.push(limitNode(limits.rows));
  const mode = isDistinct
    ? isOrdered && limits.isStated ? "ordered_aggregate" : "aggregate"
    : isOrdered
    ? "ordered_scan"
    : "scan";
  const merge = selectNode(rows.outputs(), partsNode(), {
    modifiers: modifiers.map((modifier) => modifier.merge),
  });
  return {
    mode,
    worker: rows.worker(kept),
    merge,
    ...(limits.rows === undefined ? {} : { rowsMax: limits.rows }),
  };
}

/** A modifier for the worker, and for what merges. */
interface SplitModifier {
  readonly worker: TreeNode;
  readonly merge: TreeNode;
}

/** The columns that a worker gives: those of the statement, and hidden ones behind them. */
class RowsOfWorker {
  readonly #cut: CutSelect;
  readonly #hidden: TreeNode[] = [];
  /** The worker's names of the statement's columns. */
  readonly #names: readonly string[];
  readonly #isRenamed: boolean;

  constructor(cut: CutSelect) {
    this.#cut = cut;
    const own = cut.columns.map(({ name }) => name.toLowerCase());
    const isUnique = new Set(own).size === own.length && !own.includes("");
    this.#isRenamed = !cut.isPlain && !isUnique;
    this.#names = cut.columns.map(({ name }, i) => cut.isPlain || !isUnique ? cut.nameOf(i) : name);
  }

  outputs(): readonly TreeNode[] {
    return this.#names.map((name, i) => named(partNode(name), this.#cut.columns[i]?.name ?? ""));
  }

  worker(modifiers: readonly TreeNode[]): TreeNode {
    const { select, scope, isPlain, items } = this.#cut;
    const list = isPlain
      ? items.map((item, i) => named(scope.inlined(item), this.#names[i] ?? ""))
      : items;
    const hidden = this.#hidden.map((key, i) => named(key, this.#keyName(i)));
    const where = nodeAt(select, "where_clause");
    const worker: TreeNode = {
      ...select,
      select_list: [...list, ...hidden],
      where_clause: where === undefined ? null : scope.inlined(where),
      modifiers: [...modifiers],
    };
    if (!this.#isRenamed) return worker;
    const names = [...this.#names, ...hidden.map((_, i) => this.#keyName(i))];
    return selectNode([starNode()], subqueryNode(worker, this.#cut.nameOf("rows"), names));
  }

  modifier(modifier: TreeNode): SplitModifier {
    switch (textAt(modifier, "type")) {
      case "ORDER_MODIFIER": {
        const orders = nodesAt(modifier, "orders").flatMap((order) => this.#order(order));
        return {
          worker: { ...modifier, orders: orders.map(({ worker }) => worker) },
          merge: { ...modifier, orders: orders.map(({ merge }) => merge) },
        };
      }
      case "DISTINCT_MODIFIER": {
        const targets = nodesAt(modifier, "distinct_on_targets").map((on) => this.#key(on, true));
        return {
          worker: { ...modifier, distinct_on_targets: targets.map(({ worker }) => worker) },
          merge: { ...modifier, distinct_on_targets: targets.map(({ merge }) => merge) },
        };
      }
      case "LIMIT_MODIFIER":
        return { worker: modifier, merge: modifier };
      default:
        throw new Whole("its LIMIT is a share of all rows");
    }
  }

  #order(order: TreeNode): readonly SplitModifier[] {
    const expression = nodeAt(order, "expression") ?? {};
    if (isClass(expression, "STAR")) {
      return this.#names.map((_, i) => both({ ...order, expression: integerNode(i + 1) }));
    }
    const isOn = this.#cut.isDistinctOn;
    const { worker, merge } = this.#key(expression, isOn || !this.#cut.isDistinct);
    return [{ worker: { ...order, expression: worker }, merge: { ...order, expression: merge } }];
  }

  /** What rows are ordered by, or told apart by. */
  #key(expression: TreeNode, mayHide: boolean): SplitModifier {
    const index = this.#cut.outputOf(expression);
    if (index !== undefined) {
      const item = this.#cut.isPlain ? this.#cut.items[index] : undefined;
      const isColumn = item !== undefined && isClass(item, "COLUMN_REF") &&
        this.#cut.scope.columnOf(item) !== undefined;
      return {
        worker: isColumn ? unnamed(item) : integerNode(index + 1),
        merge: integerNode(index + 1),
      };
    }
    if (!mayHide) throw new Whole("it is ordered by what its DISTINCT rows do not have");
    const inlined = unnamed(this.#cut.scope.inlined(expression));
    const collated = isClass(inlined, "COLLATE") ? nodeAt(inlined, "child") : undefined;
    this.#hidden.push(collated ?? inlined);
    const part = partNode(this.#keyName(this.#hidden.length - 1));
    return {
      worker: inlined,
      merge: collated === undefined ? part : { ...inlined, child: part },
    };
  }

  #keyName(index: number): string {
    return this.#cut.nameOf(this.#names.length + index);
  }
}

function both(node: TreeNode): SplitModifier {
  return { worker: node, merge: node };
}

/** Whether a SELECT collates anything but all that its rows are ordered by. */
function collatesWithin(select: TreeNode): boolean {
  const isCollation = (node: TreeNode) => isClass(node, "COLLATE");
  const orders = nodesAt(select, "modifiers").flatMap((modifier) => nodesAt(modifier, "orders"));
  const within = orders.map((order) => {
    const expression = nodeAt(order, "expression") ?? {};
    return isCollation(expression) ? expression["child"] : expression;
  });
  const targets = nodesAt(select, "modifiers").map((one) => one["distinct_on_targets"] ?? []);
  return contains([select["select_list"], targets, within], isCollation);
}

interface Limits {
  /** Rows that a worker gives at most; undefined: all. */
  readonly rows: number | undefined;
  /** Whether the statement has a LIMIT. */
  readonly isStated: boolean;
}

/** Throws `Whole` where LIMIT or OFFSET is computed. */
function limitOf({ select, rowsMax }: CutSelect): Limits {
  const modifier = nodesAt(select, "modifiers").find((one) =>
    textAt(one, "type") === "LIMIT_MODIFIER"
  );
  const limit = countOf(nodeAt(modifier ?? {}, "limit"));
  const rows = Math.min(limit ?? Infinity, rowsMax) +
    (countOf(nodeAt(modifier ?? {}, "offset")) ?? 0);
  return {
    rows: Number.isSafeInteger(rows) ? rows : undefined,
    isStated: limit !== undefined,
  };
}

function countOf(node: TreeNode | undefined): number | undefined {
  if (node === undefined) return undefined;
  const count = integerConstant(node);
  if (count === undefined || count < 0n) throw new Whole("its LIMIT is computed");
  return Number(count);
}

function limitNode(rows: number): TreeNode {
  const limit = integerNode(rows);
  const value = { ...nodeAt(limit, "value"), type: { id: "BIGINT", type_info: null } };
  return { type: "LIMIT_MODIFIER", limit: { ...limit, value }, offset: null };
}

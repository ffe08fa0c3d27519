/** The clauses of a SELECT with groups, as DuckDB reads their names. */

import {
  integerConstant,
  listAt,
  nodeAt,
  nodesAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import { textAt } from "../statement/syntax_tree.ts";
import type { CutSelect } from "./cut_select.ts";
import { contains, isAggregateCall } from "./find_cut.ts";
import { isClass, unnamed } from "./tree_parts.ts";
import { Unsplit, Whole } from "./types.ts";

/** What rows are grouped by. */
export interface Group {
  readonly node: TreeNode;
  readonly key: string;
  /** Name of the worker's column. */
  readonly name: string;
  /** Whether it reads no column. */
  readonly isConstant: boolean;
}

/** Returns groups and grouping sets; no set: all rows are one group. */
export function groupsOf(cut: CutSelect): {
  readonly list: readonly Group[];
  readonly sets: readonly (readonly number[])[];
} {
  const { select, scope, items } = cut;
  const isAll = textAt(select, "aggregate_handling") === "FORCE_AGGREGATES";
  const own = isAll
    ? [...items.filter((item) => isGroupOfAll(cut, item)), ...columnsOfHaving(cut)]
    : groupExpressions(cut);
  const list = own.map((expression, i) => {
    const node = unnamed(scope.inlined(expression));
    return {
      node,
      key: scope.keyOf(node),
      name: cut.nameOf(i),
      isConstant: !contains(node, (inner) => isClass(inner, "COLUMN_REF")),
    };
  });
  if (isAll) return { list, sets: list.length === 0 ? [] : [list.map((_, i) => i)] };
  const sets = listAt(select, "group_sets").map((set) => (set as readonly number[]).map(Number));
  const unique = new Set(sets.map((set) => set.toSorted((a, b) => a - b).join()));
  if (unique.size < sets.length) throw new Whole("it has a grouping set twice");
  // One of the two may be in a set without the other, and their columns would be the same.
  if (sets.length > 1 && new Set(list.map(({ key }) => key)).size < list.length) {
    throw new Whole("it groups by the same expression twice");
  }
  // GROUP BY () is what aggregates without GROUP BY do.
  return { list, sets: list.length === 0 ? [] : sets };
}

/** Whether GROUP BY ALL groups by an item: it reads a column, and no aggregate does. */
function isGroupOfAll({ scope }: CutSelect, item: TreeNode): boolean {
  const inlined = scope.inlined(item);
  return !contains(inlined, (node) => isAggregateCall(node) || isClass(node, "WINDOW")) &&
    contains(inlined, (node) => isClass(node, "COLUMN_REF"));
}

/** GROUP BY ALL also groups by each column that HAVING names outside of aggregates. */
function columnsOfHaving(cut: CutSelect): readonly TreeNode[] {
  const columns = new Map<string, TreeNode>();
  walk(havingOfAll(cut), (node) => {
    if (isAggregateCall(node) || isClass(node, "SUBQUERY")) return false;
    if (!isClass(node, "COLUMN_REF") || cut.scope.columnOf(node) === undefined) return true;
    columns.set(cut.scope.keyOf(node), node);
    return false;
  });
  return [...columns.values()];
}

/** HAVING of GROUP BY ALL: an alias goes before a column. */
function havingOfAll({ select, scope }: CutSelect): TreeNode | undefined {
  const having = nodeAt(select, "having");
  return having === undefined ? undefined : scope.inlined(having, "alias", isAggregateCall);
}

function groupExpressions({ select, items, scope }: CutSelect): readonly TreeNode[] {
  return nodesAt(select, "group_expressions").map((expression) => {
    const place = integerConstant(expression);
    const item = place === undefined
      ? scope.aliasedIn(expression, "column")
      : items[Number(place) - 1];
    return item ?? expression;
  });
}

/** Clauses with aliases replaced by what they stand for. */
export interface Clauses {
  readonly items: readonly TreeNode[];
  readonly where: TreeNode | null;
  readonly having: TreeNode | undefined;
  readonly qualify: TreeNode | undefined;
  /** The modifiers as they were written. */
  readonly modifiers: readonly TreeNode[];
  /** What `modifiers` are ordered by beyond the items. */
  readonly ordered: readonly TreeNode[];
}

/** Behind GROUP BY a name is a group, else an alias; within an aggregate it is a column. */
export function clausesOf(cut: CutSelect, groups: readonly Group[]): Clauses {
  const { select, scope, items } = cut;
  const keys = new Set(groups.map(({ key }) => key));
  const isKept = (node: TreeNode) =>
    isAggregateCall(node) || (isClass(node, "COLUMN_REF") && keys.has(scope.keyOf(node)));
  const behind = (member: string) => {
    const clause = nodeAt(select, member);
    return clause === undefined ? undefined : scope.inlined(clause, "alias", isKept);
  };
  const where = nodeAt(select, "where_clause");
  const modifiers = nodesAt(select, "modifiers");
  const expressions = modifiers.flatMap((modifier) => [
    ...nodesAt(modifier, "orders").map((order) => nodeAt(order, "expression") ?? {}),
    ...nodesAt(modifier, "distinct_on_targets"),
  ]);
  return {
    items: items.map((item) => scope.inlined(item)),
    where: where === undefined ? null : scope.inlined(where),
    having: textAt(select, "aggregate_handling") === "FORCE_AGGREGATES"
      ? havingOfAll(cut)
      : behind("having"),
    qualify: behind("qualify"),
    modifiers,
    ordered: expressions.filter((one) => !isClass(one, "STAR") && cut.outputOf(one) === undefined)
      .map((one) => scope.inlined(one)),
  };
}

/** The calls of aggregates in all clauses. Throws `Unsplit` where one is within another. */
export function aggregatesOf({ items, having, qualify, ordered }: Clauses): readonly TreeNode[] {
  const calls: TreeNode[] = [];
  const clauses: TreeValue = [items, having, qualify, ordered];
  walk(clauses, (node) => {
    if (isClass(node, "SUBQUERY")) {
      calls.push(...aggregatesOf({ ...NONE, items: nodesAt({ child: [node["child"]] }, "child") }));
      return false;
    }
    if (!isAggregateCall(node)) return true;
    if (contains(nodesAt(node, "children"), isAggregateCall)) {
      throw new Unsplit("an aggregate is within another");
    }
    calls.push(node);
    return false;
  });
  return calls;
}

const NONE: Clauses = {
  items: [],
  where: null,
  having: undefined,
  qualify: undefined,
  modifiers: [],
  ordered: [],
};

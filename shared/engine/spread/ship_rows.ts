/**
 * Cuts a SELECT behind its FROM and WHERE. Each worker gives the rows that its conditions leave,
 * with the columns that the other clauses name. These clauses run in one place.
 */

import { columnNode, integerNode, selectNode } from "../statement/tree_nodes.ts";
import { nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import type { CutSelect } from "./cut_select.ts";
import { contains } from "./find_cut.ts";
import { leavesOf } from "../statement/scope_walker.ts";
import {
  isClass,
  mapTree,
  named,
  namesOf,
  partNode,
  partsNode,
  subqueryNode,
} from "./tree_parts.ts";
import { type Halves, Unsplit } from "./types.ts";

/** The clauses behind FROM and WHERE. */
const BEHIND = ["select_list", "group_expressions", "having", "qualify", "modifiers"] as const;

/** Throws `Unsplit` where columns cannot be told apart by their names. */
export function shipRows(cut: CutSelect): Halves {
  const { select, scope } = cut;
  const leaves = leavesOf(nodeAt(select, "from_table") ?? {});
  const shipped = leaves.length === 1 ? shippedOfOne(cut, leaves) : shippedOfJoin(cut);
  const { columns, clauses } = shipped;
  const list = columns.length === 0
    ? [named(integerNode(1), cut.nameOf(0))]
    : columns.map(({ read }, i) => named(read, cut.nameOf(i)));
  const given = columns.length === 0
    ? [partNode(cut.nameOf(0))]
    : columns.map(({ name }, i) => named(partNode(cut.nameOf(i)), name));
  const where = nodeAt(select, "where_clause");
  const items = nodesAt({ ...select, ...clauses }, "select_list");
  return {
    mode: "ship",
    worker: selectNode(list, nodeAt(select, "from_table") ?? {}, {
      where_clause: where === undefined ? null : scope.inlined(where),
      cte_map: select["cte_map"],
    }),
    merge: {
      ...select,
      ...clauses,
      select_list: cut.isPlain
        ? items.map((item, i) => named(item, textAt(item, "alias") || cut.columns[i]?.name || ""))
        : items,
      from_table: subqueryNode(selectNode(given, partsNode()), shipped.alias),
      where_clause: null,
    },
  };
}

interface Shipped {
  /** How a worker reads each column, and what the other clauses call it. */
  readonly columns: readonly { readonly read: TreeNode; readonly name: string }[];
  /** The clauses behind FROM, with these names. */
  readonly clauses: TreeNode;
  /** What they call FROM. */
  readonly alias: string;
}

/** The columns of the one FROM item that other clauses can name keep their names. */
function shippedOfOne({ select, source }: CutSelect, [leaf = {}]: readonly TreeNode[]): Shipped {
  const names = new Set<string>();
  walk(BEHIND.map((member) => select[member]), (node) => {
    for (const name of namesOf(node)) names.add(name.toLowerCase());
  });
  const isAll = readsAll(select);
  const needed = source.filter((name) => isAll || names.has(name.toLowerCase()));
  checkUnique(needed);
  return {
    columns: needed.map((name) => ({ read: columnNode(name), name })),
    clauses: {},
    alias: textAt(leaf, "alias") || textAt(leaf, "table_name"),
  };
}

/** Columns of several FROM items become columns of one, so each reference gets another name. */
function shippedOfJoin(cut: CutSelect): Shipped {
  const { select, scope, source } = cut;
  const alias = cut.nameOf("rows");
  const clausesOf = (of: (clause: TreeNode[string]) => TreeNode[string]) =>
    Object.fromEntries(BEHIND.map((member) => [member, of(select[member])]));
  if (readsAll(select)) {
    checkUnique(source);
    const columns = source.map((name) => ({ read: columnNode(name), name }));
    return { columns, clauses: clausesOf((clause) => unqualified(cut, clause)), alias };
  }
  const columns = new Map<string, { readonly read: TreeNode; readonly name: string }>();
  const clauses = clausesOf((clause) =>
    mapTree({ clause }, (node) => {
      if (!isClass(node, "COLUMN_REF")) return undefined;
      const names = namesOf(node);
      const length = scope.isQualified(node) ? 2 : 1;
      const own = names.slice(0, length).map((name) => name.toLowerCase());
      // What is no column is an alias, or a parameter of a lambda.
      if (length === 1 && !scope.hasColumn(own[0] ?? "")) return undefined;
      const alias = scope.aliased(node);
      if (alias !== undefined && scope.columnOf(alias) !== own[0]) {
        throw new Unsplit(`${names.join(".")} is a column and an alias, of rows that are shipped`);
      }
      const key = own.join(".");
      const known = columns.get(key) ??
        { read: columnNode(...names.slice(0, length)), name: cut.nameOf(`rows${columns.size}`) };
      columns.set(key, known);
      return { ...node, column_names: [known.name, ...names.slice(length)] };
    })["clause"]
  );
  return { columns: [...columns.values()], clauses, alias };
}

/** Whether a star names all columns; that of ORDER BY ALL names those of the answer. */
function readsAll(select: TreeNode): boolean {
  const orders = nodesAt(select, "modifiers").flatMap((modifier) => nodesAt(modifier, "orders"));
  const ofAnswer = orders.map((order) => order["expression"]);
  return contains(
    BEHIND.map((member) => select[member]),
    (node) => isClass(node, "STAR") && !ofAnswer.includes(node),
  );
}

function checkUnique(names: readonly string[]): void {
  const unique = new Set(names.map((name) => name.toLowerCase()));
  if (unique.size < names.length) {
    throw new Unsplit("rows with two columns of one name are shipped");
  }
}

/** References without the name of the side of a join that they read. */
function unqualified({ scope }: CutSelect, clause: TreeNode[string]): TreeNode[string] {
  return mapTree({ clause }, (node) => {
    if (isClass(node, "STAR") && textAt(node, "relation_name") !== "") {
      throw new Unsplit("a star of one side of a join is asked of rows that are shipped");
    }
    if (!isClass(node, "COLUMN_REF") || !scope.isQualified(node)) return undefined;
    if (scope.isMerged(node)) {
      throw new Unsplit(
        "a column that USING merges is asked of one side, of rows that are shipped",
      );
    }
    return { ...node, column_names: namesOf(node).slice(1) };
  })["clause"];
}

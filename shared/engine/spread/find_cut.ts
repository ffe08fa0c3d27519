/**
 * Finds where a statement is cut: at the innermost query that cannot be asked of each shard apart,
 * or around the whole statement where there is none.
 *
 * A query is linear if its rows over the whole table are those over all shards together: it filters
 * and computes, row by row. So is a join whose other side is read whole, and a UNION ALL of linear
 * queries. From each place that reads the table the way leads outwards through linear queries, and
 * through WITHs that are named once.
 */

import { AGGREGATE_FUNCTIONS } from "../gate/allowed_functions.ts";
import {
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import { isClass } from "./tree_parts.ts";
import { Unsplit } from "./types.ts";

/** A query of the statement, and what its WITHs are there. */
export interface Cut {
  /** The node that is replaced: a SELECT or a set operation. */
  readonly query: TreeNode;
  readonly isLinear: boolean;
  /** Whether it is the whole statement. */
  readonly isRoot: boolean;
  /** WITHs outside of it that it can name, outermost first. */
  readonly visible: readonly TreeNode[];
  /** Puts another query in its place. */
  readonly replace: (query: TreeNode) => void;
}

/**
 * Finds the cut for a statement that reads one table at `references`. Throws `Unsplit` where the
 * places do not come together, or a join needs all rows.
 */
export function findCut(root: TreeNode, references: readonly TreeNode[]): Cut {
  const tree = new StatementTree(root);
  const reached = references.map((reference) => climb(tree, reference));
  const [first] = reached;
  if (first === undefined) throw new Unsplit("it reads no table");
  const passed = new Set(reached.flatMap(({ sides }) => sides));
  for (const { query, sides } of reached) {
    if (query !== first.query) throw readsOften(references);
    for (const side of sides) {
      if (!passed.has(tree.sibling(side))) {
        throw new Unsplit("a part of its UNION reads other rows");
      }
    }
  }
  // Two places that came here without a UNION between them read the same rows twice.
  if (references.length > 1 && !areBranches(reached, tree)) throw readsOften(references);
  const { query } = first;
  return {
    query,
    isLinear: first.isLinear,
    isRoot: query === root,
    visible: tree.visibleAt(query),
    replace: (other) => tree.replace(query, other),
  };
}

function readsOften(references: readonly TreeNode[]): Unsplit {
  return new Unsplit(`it reads ${textAt(references[0] ?? {}, "table_name")} more than once`);
}

interface Reached {
  readonly query: TreeNode;
  readonly isLinear: boolean;
  /** Queries on the way that are one side of a UNION. */
  readonly sides: readonly TreeNode[];
}

/** Whether each two places went through different sides of one UNION. */
function areBranches(reached: readonly Reached[], tree: StatementTree): boolean {
  return reached.every((one, i) =>
    reached.slice(i + 1).every((other) =>
      one.sides.some((side) => other.sides.includes(tree.sibling(side)))
    )
  );
}

function climb(tree: StatementTree, reference: TreeNode): Reached {
  const sides: TreeNode[] = [];
  let table = reference;
  for (;;) {
    let query = queryAround(tree, table);
    for (;;) {
      if (!isLinear(query)) return { query, isLinear: false, sides };
      const union = tree.parent(query);
      if (union === undefined || textAt(union, "type") !== "SET_OPERATION_NODE") break;
      if (!isUnion(union)) return { query, isLinear: true, sides };
      sides.push(query);
      query = union;
    }
    const next = tableOver(tree, query);
    if (next === undefined) return { query, isLinear: true, sides };
    table = next;
  }
}

/** The query that has `table` in its FROM. Throws `Unsplit` at joins that need all rows. */
function queryAround(tree: StatementTree, table: TreeNode): TreeNode {
  let at = table;
  for (;;) {
    if (nodeAt(at, "sample") !== undefined) throw new Unsplit("it draws a sample");
    const parent = tree.parent(at);
    if (parent === undefined) throw new Unsplit("its FROM is of an unknown kind");
    if (textAt(parent, "type") === "JOIN") {
      checkJoin(parent, parent["left"] === at);
      at = parent;
      continue;
    }
    if (parent["from_table"] !== at) throw new Unsplit("its FROM is of an unknown kind");
    return parent;
  }
}

/** Joins that find the partners of each row of the given side apart from all other rows. */
const LINEAR_JOINS = {
  left: new Set(["INNER", "LEFT", "SEMI", "ANTI"]),
  right: new Set(["INNER", "RIGHT"]),
} as const;

function checkJoin(join: TreeNode, isLeft: boolean): void {
  const kind = textAt(join, "join_type");
  const form = textAt(join, "ref_type");
  const side = isLeft ? "left" : "right";
  const isKnown = ["REGULAR", "NATURAL", "CROSS", "DEPENDENT"].includes(form) ||
    (form === "ASOF" && isLeft);
  if (isKnown && LINEAR_JOINS[side].has(kind)) return;
  throw new Unsplit(
    form === "POSITIONAL"
      ? "its POSITIONAL JOIN needs the order of all rows"
      : `its ${form === "ASOF" ? form : kind} JOIN needs all rows of the table on the ${side} side`,
  );
}

/** The FROM item that stands for the rows of `query`; undefined: the way ends here. */
function tableOver(tree: StatementTree, query: TreeNode): TreeNode | undefined {
  const holder = tree.parent(query);
  const owner = holder === undefined ? undefined : tree.parent(holder);
  if (owner === undefined) return undefined;
  if (textAt(owner, "type") === "SUBQUERY" && !isClass(owner, "SUBQUERY")) return owner;
  const entry = tree.parent(owner);
  if (entry === undefined || typeof entry["key"] !== "string") return undefined;
  const [only, ...more] = tree.namedBy(entry);
  return more.length === 0 ? only : undefined;
}

/** Whether the rows of a query are those over all shards together, if its FROM is so. */
function isLinear(query: TreeNode): boolean {
  if (textAt(query, "type") === "SET_OPERATION_NODE") {
    return query["setop_all"] === true && nodesAt(query, "modifiers").length === 0;
  }
  if (textAt(query, "type") !== "SELECT_NODE") throw new Unsplit("it has a recursive WITH");
  if (nodeAt(query, "sample") !== undefined) throw new Unsplit("it draws a sample");
  return nodesAt(query, "modifiers").length === 0 && !isGrouped(query) &&
    nodeAt(query, "qualify") === undefined && !holdsWindow(query["select_list"]);
}

function isUnion(query: TreeNode): boolean {
  return ["UNION", "UNION_BY_NAME"].includes(textAt(query, "setop_type"));
}

/** Whether a SELECT makes one row of many. */
export function isGrouped(select: TreeNode): boolean {
  return listAt(select, "group_expressions").length > 0 ||
    listAt(select, "group_sets").length > 0 || nodeAt(select, "having") !== undefined ||
    textAt(select, "aggregate_handling") !== "STANDARD_HANDLING" ||
    contains(select["select_list"], isAggregateCall) ||
    contains(select["modifiers"], isAggregateCall);
}

/** Whether a window function is called, outside of subqueries. */
export function holdsWindow(value: TreeValue): boolean {
  return contains(value, (node) => isClass(node, "WINDOW"));
}

/** Whether a node is a call of an aggregate; a window function is none. */
export function isAggregateCall(node: TreeNode): boolean {
  return isClass(node, "FUNCTION") &&
    AGGREGATE_FUNCTIONS.has(textAt(node, "function_name").toLowerCase());
}

/** Whether a node that `wanted` says is in an expression, outside of subqueries. */
export function contains(value: TreeValue, wanted: (node: TreeNode) => boolean): boolean {
  let found = false;
  walk(value, (node) => {
    if (isClass(node, "SUBQUERY")) return false;
    found ||= wanted(node);
    return !found;
  });
  return found;
}

/** A statement's nodes with what is around them. */
class StatementTree {
  readonly #parents = new Map<TreeNode, TreeNode>();
  readonly #root: TreeNode;

  constructor(root: TreeNode) {
    this.#root = root;
    this.#note(root, root);
  }

  #note(value: TreeValue, parent: TreeNode): void {
    if (Array.isArray(value)) { for (const item of value) this.#note(item, parent); }
    if (!isNode(value)) return;
    if (value !== parent) this.#parents.set(value, parent);
    for (const member in value) this.#note(value[member], value);
  }

  parent(node: TreeNode): TreeNode | undefined {
    return this.#parents.get(node);
  }

  /** The other side of the set operation that `query` is one side of. */
  sibling(query: TreeNode): TreeNode {
    const union = this.parent(query) ?? {};
    return nodeAt(union, union["left"] === query ? "right" : "left") ?? {};
  }

  /** WITHs around a query, which it can name. */
  visibleAt(query: TreeNode): readonly TreeNode[] {
    const around: TreeNode[] = [];
    const path: TreeNode[] = [];
    for (let at: TreeNode | undefined = query; at !== undefined; at = this.parent(at)) {
      if (at !== query) around.unshift(...withsOf(at).slice(0, placeOf(at, path)));
      path.push(at);
    }
    return around;
  }

  /** The FROM items that name a WITH. Throws `Unsplit` where it is not known which do. */
  namedBy(entry: TreeNode): readonly TreeNode[] {
    const name = textAt(entry, "key").toLowerCase();
    const tables: TreeNode[] = [];
    let entries = 0;
    walk(this.#root, (node) => {
      if (typeof node["key"] === "string" && node["key"].toLowerCase() === name) entries += 1;
      if (textAt(node, "type") !== "BASE_TABLE" || textAt(node, "schema_name") !== "") return;
      if (textAt(node, "table_name").toLowerCase() === name) tables.push(node);
    });
    if (entries > 1) throw new Unsplit(`it has two WITHs called ${textAt(entry, "key")}`);
    return tables;
  }

  replace(query: TreeNode, other: TreeNode): void {
    const parent = this.parent(query) ?? {};
    for (const member in parent) {
      if (parent[member] === query) parent[member] = other;
    }
  }
}

/** The WITHs of a query. */
export function withsOf(query: TreeNode): readonly TreeNode[] {
  return nodesAt(nodeAt(query, "cte_map") ?? {}, "map");
}

/** The place of the WITH of `query` that the path goes through; its number where there is none. */
function placeOf(query: TreeNode, path: readonly TreeNode[]): number {
  const entries = withsOf(query);
  const place = entries.findIndex((entry) => path.includes(entry));
  return place === -1 ? entries.length : place;
}

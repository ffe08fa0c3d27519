/**
 * Finds the queries within a statement that can be run before it. Whether one is a statement by
 * itself, DuckDB tells when it is prepared: it may name nothing of the queries around it but those
 * of a WITH.
 *
 * - `value`: `(SELECT …)` in a WHERE.
 * - `list`: `x IN (SELECT …)` in a WHERE, or `EXISTS (SELECT … WHERE y = x AND …)`.
 * - `rows`: a query of FROM or WITH whose column is equal to something beside it: `JOIN (SELECT …)
 *   AS q ON x = q.y`.
 * - `joined`: a table of FROM with conditions of its own that is joined in the same way. The query
 *   is written for it.
 * - `edge`: the newest or oldest row of each group (`find_edges.ts`).
 */

import { conjuncts } from "../bounds/time_bounds.ts";
import {
  columnNames,
  leavesOf,
  lower,
  qualifierOf,
  sourceNames,
} from "../statement/scope_walker.ts";
import {
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import { conjunctionNode, selectNode } from "../statement/tree_nodes.ts";
import { type Edge, edgeOf } from "./find_edges.ts";

export type FoundSubquery = FoundValue | FoundList | FoundRows | FoundJoined | FoundEdge;

interface FoundQuery {
  /** The query, with those of WITH that it names: a statement of its own. */
  readonly query: TreeNode;
}

export interface FoundValue extends FoundQuery {
  readonly place: "value";
  /** The expression in the statement's tree. */
  readonly node: TreeNode;
}

export interface FoundList extends FoundQuery, Compared {
  readonly place: "list";
  readonly node: TreeNode;
}

export interface FoundRows extends FoundQuery {
  readonly place: "rows";
  /** The query in the statement's tree. */
  readonly node: TreeNode;
  /** Names that stand for its columns, lower-cased; the first ones may have others. */
  readonly aliases: readonly string[];
  readonly equal: readonly EqualColumn[];
}

export interface FoundJoined extends FoundQuery {
  readonly place: "joined";
  /** What is equal to its one column. */
  readonly equal: Omit<EqualColumn, "column">;
}

export interface FoundEdge extends Edge {
  readonly place: "edge";
}

/** What is compared with a query's rows, and FROM of the SELECT in which it stands. */
interface Compared {
  readonly compared: TreeNode;
  readonly from: TreeNode;
}

/** An expression that is equal to a column in all rows of a SELECT. */
export interface EqualColumn extends Compared {
  readonly select: TreeNode;
  /** Lower-cased. */
  readonly column: string;
}

/** An entry of a `cte_map`. */
interface WithQuery {
  readonly key: string;
  readonly entry: TreeNode;
}

type Tell = (found: FoundSubquery) => void;

/** Finds them in the tree of a statement, the outermost ones. Pure. */
export function findSubqueries(root: TreeNode): readonly FoundSubquery[] {
  const found: FoundSubquery[] = [];
  visitQuery(root, [], (one) => found.push(one));
  const alone = found.filter((one) => namesAlone(one, root));
  const outer = alone.flatMap((one) => one.place === "rows" ? [one] : []);
  const within = (node: TreeNode, tree: TreeNode) =>
    tree !== node && someNode(tree, (below) => below === node);
  return alone.filter((one) =>
    !("node" in one) || !outer.some(({ node }) => within(one.node, node))
  );
}

function visitQuery(query: TreeNode, around: readonly WithQuery[], tell: Tell): void {
  // What a recursive query gives depends on the round that it is in.
  if (textAt(query, "type") === "RECURSIVE_CTE_NODE") return;
  let withs = around;
  for (const entry of withEntries(query)) {
    const nested = nestedQuery(nodeAt(entry, "value") ?? {}, "query");
    if (nested !== undefined) visitQuery(nested, withs, tell);
    withs = [...withs, { key: lower(textAt(entry, "key")), entry }];
  }
  for (const side of ["left", "right"]) {
    const nested = nodeAt(query, side);
    if (nested !== undefined) visitQuery(nested, withs, tell);
  }
  for (const nested of nodesAt(query, "children")) visitQuery(nested, withs, tell);
  const from = nodeAt(query, "from_table");
  if (from === undefined) return;
  for (const item of leavesOf(from)) {
    const nested = nestedQuery(item, "subquery");
    if (nested !== undefined) visitQuery(nested, withs, tell);
  }
  const edge = edgeOf(query);
  if (edge !== undefined && withs.every(({ key }) => key !== tableName(edge.item))) {
    tell({ place: "edge", ...edge });
  }
  visitConditions(query, from, { withs, tell });
  if (nodeAt(query, "sample") === undefined) visitJoined(query, from, { withs, tell });
}

interface Visit {
  readonly withs: readonly WithQuery[];
  readonly tell: Tell;
}

function visitConditions(select: TreeNode, from: TreeNode, { withs, tell }: Visit): void {
  const where = nodeAt(select, "where_clause");
  if (where === undefined) return;
  for (const node of conjuncts(where)) {
    const asIn = existsAsIn(node);
    if (asIn === undefined) continue;
    const { query, compared } = asIn;
    tell({ place: "list", node, query: withOwn(query, withs), compared, from });
  }
  walk(where, (node) => {
    if (textAt(node, "class") !== "SUBQUERY") return;
    const query = nestedQuery(node, "subquery");
    const own = query && withOwn(query, withs);
    if (own === undefined || nodesAt(own, "select_list").length !== 1) return false;
    const compared = nodeAt(node, "child");
    const kind = textAt(node, "subquery_type");
    if (kind === "SCALAR") tell({ place: "value", node, query: own });
    if (kind === "ANY" && compared !== undefined && isEqual(textAt(node, "comparison_type"))) {
      tell({ place: "list", node, query: own, compared, from });
    }
    return false;
  });
}

/** Queries of FROM and WITH that the items beside them are joined with by an equality. */
function visitJoined(select: TreeNode, from: TreeNode, { withs, tell }: Visit): void {
  const { items, conditions } = joined(from);
  if (items.length < 2) return;
  const where = nodeAt(select, "where_clause");
  const all = [...conditions, ...where === undefined ? [] : [where]].flatMap(conjuncts);
  for (const item of items) {
    const qualifier = lower(qualifierOf(item));
    const given = queryOf(item, withs);
    if (given === undefined && withs.every(({ key }) => key !== tableName(item))) {
      visitTable(
        item,
        all,
        (query, compared) => tell({ place: "joined", query, equal: { select, from, compared } }),
      );
    }
    if (given === undefined) continue;
    const equal = all.flatMap((conjunct) => sidesOf(conjunct)).flatMap(([column, compared]) => {
      const [first, name, ...more] = columnNames(column);
      return first === qualifier && name !== undefined && more.length === 0 &&
          !someNode(compared, (node) => textAt(node, "class") === "SUBQUERY")
        ? [{ select, from, column: name, compared }]
        : [];
    });
    if (equal.length > 0) tell({ place: "rows", ...given, equal });
  }
}

/** A table that some of the conditions are about alone, and that others say to be equal to. */
function visitTable(
  item: TreeNode,
  conditions: readonly TreeNode[],
  tell: (query: TreeNode, compared: TreeNode) => void,
): void {
  if (textAt(item, "type") !== "BASE_TABLE" || nodeAt(item, "sample") !== undefined) return;
  const qualifier = lower(qualifierOf(item));
  const isOf = (node: TreeNode) => qualifiers(node).every((name) => name === qualifier);
  const own = conditions.filter(isOf);
  if (own.length === 0) return;
  for (const [column, compared] of conditions.flatMap(sidesOf)) {
    const others = qualifiers(compared);
    if (!isOf(column) || others.includes(qualifier) || others.includes(undefined)) continue;
    tell(selectNode([column], item, { where_clause: conjunctionNode(own) }), compared);
  }
}

/** The items of FROM of which a row of the SELECT has one each, and what joins them. */
function joined(
  from: TreeNode,
): { readonly items: readonly TreeNode[]; readonly conditions: readonly TreeNode[] } {
  if (textAt(from, "type") !== "JOIN") return { items: [from], conditions: [] };
  const isPlain = ["REGULAR", "CROSS"].includes(textAt(from, "ref_type"));
  const kind = isPlain ? textAt(from, "join_type") : "";
  if (kind !== "INNER" && kind !== "LEFT") return { items: [], conditions: [] };
  const left = joined(nodeAt(from, "left") ?? {});
  if (kind === "LEFT") return left;
  const right = joined(nodeAt(from, "right") ?? {});
  const on = nodeAt(from, "condition");
  return {
    items: [...left.items, ...right.items],
    conditions: [...left.conditions, ...right.conditions, ...on === undefined ? [] : [on]],
  };
}

/** The query that an item of FROM stands for; undefined: it is a table. */
function queryOf(
  item: TreeNode,
  withs: readonly WithQuery[],
): Pick<FoundRows, "node" | "query" | "aliases"> | undefined {
  if (nodeAt(item, "sample") !== undefined) return undefined;
  const aliases = listAt(item, "column_name_alias").map((name) => lower(String(name)));
  const nested = nestedQuery(item, "subquery");
  if (nested !== undefined) return { node: nested, query: withOwn(nested, withs), aliases };
  const at = withs.findLastIndex(({ key }) => key === tableName(item));
  const value = nodeAt(withs[at]?.entry ?? {}, "value");
  const query = value && nestedQuery(value, "query");
  if (query === undefined || textAt(query, "type") === "RECURSIVE_CTE_NODE") return undefined;
  const own = listAt(value ?? {}, "aliases").map((name) => lower(String(name)));
  const names = aliases.length > 0 ? aliases : own;
  return { node: query, query: withOwn(query, withs.slice(0, at)), aliases: names };
}

/** Both ways to read an equality. */
function sidesOf(conjunct: TreeNode): readonly (readonly [TreeNode, TreeNode])[] {
  const [left, right] = [nodeAt(conjunct, "left"), nodeAt(conjunct, "right")];
  if (!isEqual(textAt(conjunct, "type")) || left === undefined || right === undefined) return [];
  return [[left, right], [right, left]];
}

/** `EXISTS (SELECT … FROM u WHERE u.y = x AND …)` as `x IN (SELECT u.y FROM u WHERE …)`. */
function existsAsIn(node: TreeNode): Pick<FoundList, "query" | "compared"> | undefined {
  if (textAt(node, "class") !== "SUBQUERY" || textAt(node, "subquery_type") !== "EXISTS") return;
  const query = nestedQuery(node, "subquery");
  const from = query && nodeAt(query, "from_table");
  const where = query && nodeAt(query, "where_clause");
  if (query === undefined || from === undefined || where === undefined || !isPlain(query)) return;
  const own = sourceNames(from);
  const all = conjuncts(where);
  for (const conjunct of all) {
    for (const [inner, outer] of sidesOf(conjunct)) {
      if (!qualifiers(inner).every((name) => name !== undefined && own.has(name))) continue;
      if (!qualifiers(outer).every((name) => name !== undefined && !own.has(name))) continue;
      const rest = conjunctionNode(all.filter((one) => one !== conjunct));
      return { query: { ...query, select_list: [inner], where_clause: rest }, compared: outer };
    }
  }
  return undefined;
}

/** Whether a SELECT gives a row for each that WHERE leaves of FROM. Aggregates do not. */
function isPlain(select: TreeNode): boolean {
  const calls = (item: TreeNode) => someNode(item, (node) => textAt(node, "class") === "FUNCTION");
  return textAt(select, "type") === "SELECT_NODE" &&
    !nodesAt(select, "select_list").some(calls) &&
    ["modifiers", "group_expressions"].every((member) => listAt(select, member).length === 0) &&
    ["having", "qualify", "sample"].every((member) => nodeAt(select, member) === undefined) &&
    withEntries(select).length === 0;
}

/** What qualifies the columns in an expression; undefined for a bare one, and for what nests. */
function qualifiers(expression: TreeNode): readonly (string | undefined)[] {
  const found: (string | undefined)[] = [];
  walk(expression, (node) => {
    if (textAt(node, "class") === "SUBQUERY") found.push(undefined);
    if (textAt(node, "class") !== "COLUMN_REF") return;
    const names = columnNames(node);
    found.push(names.length === 2 ? names[0] : undefined);
  });
  return found.length === 0 ? [undefined] : found;
}

function isEqual(type: string): boolean {
  return type === "COMPARE_EQUAL";
}

/** The query with those of `withs` that it names, directly or by one another. */
function withOwn(query: TreeNode, withs: readonly WithQuery[]): TreeNode {
  const entries = [...withEntries(query)];
  const keys = new Set(entries.map((entry) => lower(textAt(entry, "key"))));
  const named = namesIn(query);
  for (const { key, entry } of withs.toReversed()) {
    if (!named.has(key) || keys.has(key)) continue;
    keys.add(key);
    entries.unshift(entry);
    for (const name of namesIn(entry)) named.add(name);
  }
  return { ...query, cte_map: { map: entries } };
}

/**
 * Whether a found query reads tables, and what it names of WITH is named nowhere else. Run twice,
 * that could give other rows the second time. A table that is read twice has one plan, so a
 * condition on one of the two leaves out nothing.
 */
function namesAlone({ place, query }: FoundSubquery, root: TreeNode): boolean {
  if (place === "joined" || place === "edge") return countNames(root, namesIn(query)) === 1;
  const keys = new Set(withEntries(query).map((entry) => lower(textAt(entry, "key"))));
  if ([...namesIn(query)].every((name) => keys.has(name))) return false;
  return keys.size === 0 || countNames(query, keys) === countNames(root, keys);
}

function countNames(tree: TreeNode, names: ReadonlySet<string>): number {
  let count = 0;
  walk(tree, (node) => {
    if (names.has(tableName(node))) count += 1;
  });
  return count;
}

/** Removes queries of WITH that nothing names any more: their tables would be planned for them. */
export function removeUnnamed(root: TreeNode): void {
  let removed = false;
  walk(root, (node) => {
    const entries = withEntries(node);
    const named = entries.filter((entry) => {
      const key = new Set([lower(textAt(entry, "key"))]);
      return countNames(root, key) > countNames(entry, key);
    });
    if (named.length === entries.length) return;
    node["cte_map"] = { map: named };
    removed = true;
  });
  if (removed) removeUnnamed(root);
}

/** Names of tables and of queries of WITH, lower-cased. */
function namesIn(tree: TreeValue): Set<string> {
  const names = new Set<string>();
  walk(tree, (node) => {
    const name = tableName(node);
    if (name !== "") names.add(name);
  });
  return names;
}

function tableName(node: TreeNode): string {
  return textAt(node, "type") === "BASE_TABLE" ? lower(textAt(node, "table_name")) : "";
}

function withEntries(query: TreeNode): readonly TreeNode[] {
  return nodesAt(nodeAt(query, "cte_map") ?? {}, "map");
}

/** The query of a nested statement, `{ node }`. */
function nestedQuery(node: TreeNode, member: string): TreeNode | undefined {
  const statement = node[member];
  return isNode(statement) ? nodeAt(statement, "node") : undefined;
}

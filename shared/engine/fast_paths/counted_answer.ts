/**
 * Statements whose answers are values and how many rows have them, in an order of these:
 * `SELECT source, count(*) AS n FROM events GROUP BY source ORDER BY n DESC LIMIT 10`. Weighted
 * rows are such an answer already, so DuckDB need not be asked for it.
 *
 * The list is closed: what is not known here is left to DuckDB. It decides about names and types of
 * the columns in any case.
 */

import {
  integerConstant,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
} from "../statement/syntax_tree.ts";
import { WEIGHT } from "./weighted_aggregates.ts";
import type { WeightedRows } from "./weighted_relation.ts";
import type { WeightedStatement } from "./weighted_statement.ts";

/** A value of an answer: a count, a text, minutes since 1970, or NULL. */
export type CountedValue = number | string | null;

/** What a column of the answer is: the number of rows, their minute, or one of the columns. */
export type CountedItem =
  | { readonly kind: "count" }
  | { readonly kind: "minute" }
  | { readonly kind: "text"; readonly at: number };

/** An answer of which every row is known. */
export interface CountedAnswer {
  readonly items: readonly CountedItem[];
  /** The rows in their order, each of them made when it is taken. */
  readonly rows: () => readonly (readonly CountedValue[])[];
}

/** By which column of the answer its rows are sorted, and how. */
interface CountedOrder {
  readonly at: number;
  readonly isDescending: boolean;
  readonly areNullsFirst: boolean;
}

/** What is done with weighted rows. */
interface CountedForm {
  readonly items: readonly CountedItem[];
  readonly isGrouped: boolean;
  readonly orders: readonly CountedOrder[];
  readonly first: number;
  readonly end: number;
}

/** The answer that `rows` are, where they are all that it is made of; else undefined. */
export function countedAnswer(
  statement: WeightedStatement,
  rows: WeightedRows,
): CountedAnswer | undefined {
  const form = formOf(statement);
  return form && { items: form.items, rows: () => rowsOf(form, rows) };
}

function formOf(statement: WeightedStatement): CountedForm | undefined {
  const { root, columns, minutes, measures } = statement;
  if (measures.length > 0 || nodeAt(root, "where_clause") !== undefined) return undefined;
  if (nodeAt(root, "having") !== undefined) return undefined;
  if (columns.some(({ type, words }) => type !== "string" || words !== undefined)) return undefined;
  const nodes = nodesAt(root, "select_list");
  const items = nodes.map((node) => itemOf(node, statement));
  if (!areKnown(items)) return undefined;
  const listed: Listed = { nodes, items };
  const groups = groupsOf(statement, listed);
  const dims = columns.length + (minutes ? 1 : 0);
  if (groups === undefined || groups.size !== dims) return undefined;
  const asked = modifiersOf(statement, listed);
  return asked && { items, isGrouped: groups.size > 0, ...asked };
}

/** The select list: its nodes, and what they are. */
interface Listed {
  readonly nodes: readonly TreeNode[];
  readonly items: readonly CountedItem[];
}

function areKnown(items: readonly (CountedItem | undefined)[]): items is readonly CountedItem[] {
  return !items.includes(undefined);
}

/** What an expression of a weighted row is. */
function itemOf(node: TreeNode, statement: WeightedStatement): CountedItem | undefined {
  return isCount(node) ? { kind: "count" } : dimOf(node, statement);
}

function dimOf(node: TreeNode, { columns, minutes }: WeightedStatement): CountedItem | undefined {
  if (textAt(node, "class") !== "COLUMN_REF") return undefined;
  const name = String(listAt(node, "column_names").at(-1)).toLowerCase();
  // Weighted rows have no other instants than minutes.
  if (minutes && name === "timestamp") return { kind: "minute" };
  const at = columns.findIndex((column) => column.name.toLowerCase() === name);
  return at < 0 ? undefined : { kind: "text", at };
}

/** Whether a node is what became of `count(*)`: a sum of all weights, 0 for no rows. */
function isCount(node: TreeNode): boolean {
  const sums = nodesAt(nodeAt(node, "child") ?? {}, "children");
  const [sum, zero, ...more] = sums;
  if (textAt(node, "class") !== "CAST" || sum === undefined || zero === undefined) return false;
  const [weight] = nodesAt(sum, "children");
  return more.length === 0 && integerConstant(zero) === 0n &&
    textAt(nodeAt(node, "cast_type") ?? {}, "id") === "BIGINT" &&
    textAt(sum, "function_name") === "sum" && nodeAt(sum, "filter") === undefined &&
    weight !== undefined && listAt(weight, "column_names").join() === WEIGHT;
}

/** By what rows are grouped, each once. */
function groupsOf(statement: WeightedStatement, listed: Listed): Set<string> | undefined {
  const { root } = statement;
  const groups = new Set<string>();
  const isAll = textAt(root, "aggregate_handling") === "FORCE_AGGREGATES";
  const asked = nodesAt(root, "group_expressions");
  if (isAll && asked.length > 0) return undefined;
  const sets = listAt(root, "group_sets");
  if (sets.length > 1 || asked.length === 0 && sets.length > 0 && !isAll) return undefined;
  const [set = []] = sets as (readonly unknown[])[];
  if (asked.length > 0 && new Set(set).size !== asked.length) return undefined;
  for (const node of asked) {
    // A column goes before an alias here.
    const item = dimOf(node, statement) ?? meant(node, listed);
    if (item === undefined || item.kind === "count") return undefined;
    groups.add(nameOf(item));
  }
  const dims = listed.items.filter(({ kind }) => kind !== "count").map(nameOf);
  return isAll ? new Set(dims) : dims.every((dim) => groups.has(dim)) ? groups : undefined;
}

function nameOf(item: CountedItem): string {
  return item.kind === "text" ? String(item.at) : item.kind;
}

/** The item that a place in the select list, or an alias, means. */
function meant(node: TreeNode, { nodes, items }: Listed): CountedItem | undefined {
  const at = placeOf(node, nodes);
  return at === undefined ? undefined : items[at];
}

function placeOf(node: TreeNode, nodes: readonly TreeNode[]): number | undefined {
  const place = integerConstant(node);
  if (place !== undefined) return Number(place) - 1;
  const [name, ...more] = listAt(node, "column_names");
  if (name === undefined || more.length > 0) return undefined;
  const alias = String(name).toLowerCase();
  const places = nodes.flatMap((item, at) =>
    textAt(item, "alias").toLowerCase() === alias ? [at] : []
  );
  return places.length === 1 ? places[0] : undefined;
}

function modifiersOf(
  statement: WeightedStatement,
  listed: Listed,
): Pick<CountedForm, "orders" | "first" | "end"> | undefined {
  let orders: readonly CountedOrder[] = [];
  let [first, end] = [0, Infinity];
  for (const modifier of nodesAt(statement.root, "modifiers")) {
    const type = textAt(modifier, "type");
    if (type === "ORDER_MODIFIER") {
      const own = nodesAt(modifier, "orders").map((order) => orderOf(order, { statement, listed }));
      if (own.includes(undefined)) return undefined;
      orders = own as readonly CountedOrder[];
    } else if (type === "LIMIT_MODIFIER") {
      const [taken, skipped] = [rowsOfLimit(modifier, "limit"), rowsOfLimit(modifier, "offset")];
      if (taken === undefined || skipped === undefined) return undefined;
      first = skipped ?? 0;
      end = taken === null ? Infinity : first + taken;
    } else {
      return undefined;
    }
  }
  return { orders, first, end };
}

function orderOf(
  order: TreeNode,
  { statement, listed }: { readonly statement: WeightedStatement; readonly listed: Listed },
): CountedOrder | undefined {
  const node = nodeAt(order, "expression") ?? {};
  const item = itemOf(node, statement);
  const named = placeOf(node, listed.nodes);
  const at = item === undefined
    ? named
    : listed.items.findIndex((one) => nameOf(one) === nameOf(item));
  // An alias goes before a column here, so one that is called like another column is left alone.
  if (item !== undefined && named !== undefined && named !== at) return undefined;
  if (at === undefined || listed.items[at] === undefined) return undefined;
  const [type, nulls] = [textAt(order, "type"), textAt(order, "null_order")];
  if (!ORDER_TYPES.has(type) || !NULL_ORDERS.has(nulls)) return undefined;
  return { at, isDescending: type === "DESCENDING", areNullsFirst: nulls === "NULLS FIRST" };
}

const ORDER_TYPES: ReadonlySet<string> = new Set(["ORDER_DEFAULT", "ASCENDING", "DESCENDING"]);
/** By default NULL comes last in either direction. */
const NULL_ORDERS: ReadonlySet<string> = new Set(["ORDER_DEFAULT", "NULLS LAST", "NULLS FIRST"]);

/** Rows of a LIMIT or an OFFSET. null: it has none. Undefined: it is no plain number. */
function rowsOfLimit(modifier: TreeNode, member: string): number | null | undefined {
  const node = nodeAt(modifier, member);
  if (node === undefined) return null;
  const value = integerConstant(node);
  return value === undefined || value < 0n ? undefined : Number(value);
}

function rowsOf(form: CountedForm, weighted: WeightedRows): readonly (readonly CountedValue[])[] {
  const { items, isGrouped, orders, first, end } = form;
  const rows = isGrouped
    // Weighted rows differ in what they are grouped by.
    ? weighted.weights.map((_, row) => items.map((item) => valueOf(item, weighted, row)))
    : [items.map(() => weighted.weights.reduce((sum, weight) => sum + weight, 0))];
  if (orders.length > 0) rows.sort((one, other) => compareRows(one, other, orders));
  return first === 0 && end === Infinity ? rows : rows.slice(first, end);
}

function valueOf(item: CountedItem, rows: WeightedRows, row: number): CountedValue {
  if (item.kind === "count") return rows.weights[row] ?? 0;
  if (item.kind === "minute") return rows.minutes[row] ?? 0;
  const { values = [], ids = [] } = rows.columns[item.at] ?? {};
  const id = ids[row] ?? 0;
  return id === 0 ? null : values[id] ?? null;
}

function compareRows(
  one: readonly CountedValue[],
  other: readonly CountedValue[],
  orders: readonly CountedOrder[],
): number {
  for (const { at, isDescending, areNullsFirst } of orders) {
    const [a = null, b = null] = [one[at], other[at]];
    if (a === b) continue;
    if (a === null || b === null) return (a === null) === areNullsFirst ? -1 : 1;
    const order = typeof a === "string" ? compareTexts(a, String(b)) : a - Number(b);
    if (order !== 0) return isDescending ? -order : order;
  }
  return 0;
}

/** Compares texts by their UTF-8, as DuckDB does. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Halves of what lies beyond 16 bits come after all else. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

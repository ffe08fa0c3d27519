/**
 * Rewrites `attr_get(attributes, 'x')` to the promoted column of `x`, where the table has one
 * (docs/api/tables.md#promoted-columns). It does so in a WHERE, and anywhere in a statement that
 * groups. Reading a column costs less than looking through JSON.
 *
 * The answer is the same for every row (`schema/promoted.ts`): a row whose column was never filled
 * is looked up in its attributes as before. Where all rows of a file have the value, `attributes`
 * is not read for it.
 *
 * Only the statement whose FROM is the table itself is rewritten, and nothing below a subquery:
 * elsewhere the column need not be in reach. A column that statements cannot name
 * (`TablePlan.unasked`) comes into reach for this alone; a `*` leaves it out.
 */

import { attributeOf, ATTRIBUTES, readsBack } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import type { TableReference } from "../gate/gate.ts";
import { type AttributeText, isFilled, type TablePlan } from "./plan.ts";
import { namedColumns } from "./projection.ts";
import {
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";

/**
 * Changes the tree. Returns the tables with the columns that it then names; undefined when nothing
 * was changed.
 */
export function usePromoted(
  root: TreeNode,
  references: readonly TableReference[],
  tables: readonly TablePlan[],
): readonly TablePlan[] | undefined {
  const calls = callsOf(root, references);
  const [reference] = references;
  const [table] = tables;
  if (calls.length === 0 || reference === undefined || table === undefined) return undefined;
  const hides = canHide(root);
  const byAttribute = columnsOf(table, hides);
  if (byAttribute.size === 0) return undefined;
  const used = new Map<Column, TextColumn>();
  for (const { node, attribute } of calls) {
    const source = byAttribute.get(attribute);
    if (source === undefined) continue;
    const text = used.get(source) ?? textColumn(table, { attribute, source, hides });
    used.set(source, text);
    become(node, textNode(node, { ...text, from: reference.node }));
  }
  if (used.size === 0) return undefined;
  const all = [...used.values()];
  const added = all.map(({ column }) => column)
    .filter((column) => !table.schema.columns.includes(column));
  hide(root, added);
  const texts = all.flatMap(({ column, text }) =>
    text === undefined ? [] : [[column.name, text] as const]
  );
  return [{
    ...table,
    schema: { ...table.schema, columns: [...table.schema.columns, ...added] },
    texts: new Map(texts),
  }];
}

/**
 * Makes `node` the other one. Nothing of what it was stays: others would find the attributes in it.
 */
function become(node: TreeNode, other: TreeNode): void {
  for (const member of Object.keys(node)) delete node[member];
  Object.assign(node, other);
}

/** The attributes of a table that a statement reads where promoted columns would serve it. */
export interface AttributeReads {
  /** Lower-cased name. */
  readonly table: string;
  readonly attributes: ReadonlySet<string>;
}

/** Returns the attributes that a statement reads so; undefined: none. */
export function attributeReads(
  root: TreeNode,
  references: readonly TableReference[],
): AttributeReads | undefined {
  const calls = callsOf(root, references);
  const [reference] = references;
  if (calls.length === 0 || reference === undefined) return undefined;
  const attributes = new Set(calls.map(({ attribute }) => attribute));
  return { table: reference.table, attributes };
}

/** Returns the calls of a statement over one table; none for any other statement. */
function callsOf(root: TreeNode, references: readonly TableReference[]): AttributeCall[] {
  const [reference] = references;
  if (reference === undefined || references.length > 1) return [];
  const isPlain = reference.node === root["from_table"] && reference.hot === undefined &&
    listAt(reference.node, "column_name_alias").length === 0;
  if (!isPlain) return [];
  const parts = isGrouped(root) ? ["where_clause", ...GROUPED_PARTS] : ["where_clause"];
  return parts.flatMap((part) => callsIn(root[part]));
}

/**
 * Clauses in which a statement that groups may call it. All of them change together, because what
 * is selected must be what is grouped by.
 */
const GROUPED_PARTS = ["select_list", "group_expressions", "having", "qualify", "modifiers"];

/** Whether it groups, and all that it selects is called the same whatever becomes of a call. */
function isGrouped(root: TreeNode): boolean {
  const groups = listAt(root, "group_expressions").length > 0 ||
    textAt(root, "aggregate_handling") === "FORCE_AGGREGATES";
  return groups &&
    nodesAt(root, "select_list").every((item) =>
      textAt(item, "alias") !== "" || callsIn(item).length === 0
    );
}

/**
 * Returns the promoted columns by the attribute that they hold. Where two hold the same attribute,
 * the one that was asked for counts.
 */
function columnsOf(
  { schema: { promoted = [], columns }, unasked }: TablePlan,
  withUnasked: boolean,
): ReadonlyMap<string, Column> {
  const all = [...withUnasked ? unasked : [], ...columns];
  return new Map(
    all.filter(({ name, type }) => promoted.includes(name) && readsBack(type))
      .map((column) => [attributeOf(column.name), column]),
  );
}

interface AttributeCall {
  readonly node: TreeNode;
  readonly attribute: string;
}

/** Returns the calls below `part` of a statement, but not those of a subquery. */
function callsIn(part: TreeValue): AttributeCall[] {
  const calls: AttributeCall[] = [];
  walk(part, (node) => {
    if (textAt(node, "class") === "SUBQUERY") return false;
    const attribute = calledFor(node);
    if (attribute !== undefined) calls.push({ node, attribute });
    return attribute === undefined;
  });
  return calls;
}

/** Returns the name in `attr_get(attributes, '<name>')`; undefined for anything else. */
function calledFor(node: TreeNode): string | undefined {
  if (textAt(node, "class") !== "FUNCTION") return undefined;
  if (textAt(node, "function_name").toLowerCase() !== "attr_get") return undefined;
  const [attributes, name, ...others] = nodesAt(node, "children");
  if (attributes === undefined || name === undefined || others.length > 0) return undefined;
  if (textAt(attributes, "class") !== "COLUMN_REF") return undefined;
  const column = listAt(attributes, "column_names").at(-1);
  if (typeof column !== "string" || column.toLowerCase() !== ATTRIBUTES) return undefined;
  if (textAt(name, "class") !== "CONSTANT") return undefined;
  const value = nodeAt(name, "value")?.["value"];
  return typeof value === "string" ? value : undefined;
}

/** Whether an added column would show in nothing but a `*` that is an item of the select list. */
function canHide(root: TreeNode): boolean {
  const stars = new Set<unknown>(starsOf(root));
  const others = listAt(root, "select_list").filter((item) => !stars.has(item));
  return namedColumns({ ...root, select_list: others }) !== undefined;
}

function hide(root: TreeNode, hidden: readonly Column[]): void {
  for (const star of starsOf(root)) {
    star["exclude_list"] = [...listAt(star, "exclude_list"), ...hidden.map(({ name }) => name)];
  }
}

/** Returns the items `*` and `t.*`, but not `COLUMNS(…)`. */
function starsOf(root: TreeNode): TreeNode[] {
  return nodesAt(root, "select_list").filter((item) =>
    textAt(item, "class") === "STAR" && item["columns"] === false
  );
}

/** The column that a statement names for an attribute's text. */
interface TextColumn {
  readonly column: Column;
  /** What the column is made of, where no file has it. */
  readonly text?: AttributeText;
  /** Whether the call follows the column in a `coalesce`, for rows without a value. */
  readonly isBacked: boolean;
}

/**
 * Returns the promoted column itself where each row has it, which summaries of files may answer,
 * too. Else it returns a column that each part of a scan makes as it can: parts whose rows all have
 * it leave the attributes unread. Where that would show, the call stays.
 */
function textColumn(
  { files, delta }: TablePlan,
  { attribute, source, hides }: AttributeText & { readonly hides: boolean },
): TextColumn {
  const isWhole = delta.length === 0 &&
    files.every((file) => isFilled(file, source));
  if (isWhole || !hides) return { column: source, isBacked: !isWhole };
  const name = `text of attribute ${source.id}`;
  const column: Column = { id: source.id, name, type: "string", required: false };
  return { column, text: { attribute, source }, isBacked: false };
}

/** Returns `CAST(<table>.<column> AS VARCHAR)`, or `coalesce` of that and the call. */
function textNode(
  call: TreeNode,
  { column, isBacked, from }: TextColumn & { readonly from: TreeNode },
): TreeNode {
  const place = { alias: "", query_location: call["query_location"] };
  const { alias } = call;
  const qualifier = textAt(from, "alias") || textAt(from, "table_name");
  const text: TreeNode = {
    ...place,
    class: "CAST",
    type: "OPERATOR_CAST",
    child: {
      ...place,
      class: "COLUMN_REF",
      type: "COLUMN_REF",
      column_names: [qualifier, column.name],
    },
    cast_type: { id: "VARCHAR", type_info: null },
    try_cast: false,
  };
  if (!isBacked) return { ...text, alias };
  const children = [text, { ...call, alias: "" }];
  return { ...place, alias, class: "OPERATOR", type: "OPERATOR_COALESCE", children };
}

/**
 * Casts to types that only PostgreSQL has. `regclass` and its like are both a number and a name: a
 * text that is written out becomes the number, as in `attrelid = 'events'::regclass`. Anything else
 * becomes the name, as in `SELECT oid::regclass`, unless it is cast to a number next.
 */

import { foundOid, foundText, TYPE_NAME, TYPE_OID } from "./catalog_functions.ts";
import { castOfItems } from "../functions/array_casts.ts";
import { castNode, typedCastNode } from "../statement/tree_nodes.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";

/** A cast that is exchanged: the expression for it, and the value that is its `$1`. */
export interface CatalogCast {
  readonly template: string;
  readonly value: TreeNode;
}

const NAMES: Readonly<Record<string, string>> = {
  regclass: "class",
  regproc: "proc",
  regprocedure: "proc",
  regnamespace: "namespace",
  regrole: "role",
};

/** Types that are texts or numbers for DuckDB. */
const PLAIN: ReadonlySet<string> = new Set([
  "name",
  "int2vector",
  "oidvector",
  "aclitem",
  "cstring",
  "pg_node_tree",
  "refcursor",
  "regconfig",
  "regoperator",
  "xid",
  "cid",
  "unknown",
]);

/** Columns of `pg_type` that PostgreSQL tells by name, though conditions take them for a number. */
const PROCS: ReadonlySet<string> = new Set(["typinput", "typoutput", "typreceive", "typsend"]);

function procColumn(node: TreeNode): string | undefined {
  if (textAt(node, "class") !== "COLUMN_REF") return undefined;
  const name = String(listAt(node, "column_names").at(-1)).toLowerCase();
  return PROCS.has(name) ? name : undefined;
}

/** A cast that means the catalog only in a statement that names it elsewhere. */
export function isProcText(node: TreeNode): boolean {
  const inner = nodeAt(node, "child");
  return textAt(node, "class") === "CAST" && inner !== undefined &&
    procColumn(inner) !== undefined &&
    textAt(nodeAt(node, "cast_type") ?? {}, "id") === "VARCHAR";
}

/** An item of an answer; a function's number becomes its name. */
export function answeredItem(item: TreeNode): TreeNode {
  const name = procColumn(item);
  if (name === undefined) return item;
  return { ...castNode({ ...item, alias: "" }, "VARCHAR"), alias: textAt(item, "alias") || name };
}

/** Whether a cast is to a type that has another name in DuckDB. */
export function isCatalogCast(node: TreeNode): boolean {
  return PLAIN.has(namedType(node));
}

/** Returns what a cast to an object of the catalog stands for; undefined for any other node. */
export function castOf(node: TreeNode): CatalogCast | undefined {
  const inner = nodeAt(node, "child");
  if (textAt(node, "class") !== "CAST" || inner === undefined) return undefined;
  const outerType = textAt(nodeAt(node, "cast_type") ?? {}, "id");
  if (isProcText(node)) return castTo("regproc", inner, false);
  if (isTypeList(node)) return { template: TYPE_NAMES, value: inner };
  const innerValue = nodeAt(inner, "child");
  if (NAMED.has(namedType(inner)) && innerValue !== undefined) {
    if (NUMBERS.has(outerType)) return castTo(namedType(inner), innerValue, true);
    if (outerType === "VARCHAR") return castTo(namedType(inner), innerValue, false);
  }
  return NAMED.has(namedType(node)) ? castTo(namedType(node), inner, isText(inner)) : undefined;
}

/** The sides of `prorettype::regtype <> 'trigger'::regtype`, both as numbers. */
export function comparedNumbers(
  node: TreeNode,
): { readonly left: TreeNode; readonly right: TreeNode } | undefined {
  if (textAt(node, "class") !== "COMPARISON") return undefined;
  const [left, right] = [nodeAt(node, "left") ?? {}, nodeAt(node, "right") ?? {}];
  if (![left, right].every((side) => NAMED.has(namedType(side)))) return undefined;
  return { left: castNode(left, "BIGINT"), right: castNode(right, "BIGINT") };
}

/** `ARRAY[23]::regtype[]`, whose items are told by name. */
const TYPE_NAMES = `list_transform($1, lambda svc_x: ${TYPE_NAME.replace("$1", "svc_x")})`;

/** A cast to a list of types. */
function isTypeList(node: TreeNode): boolean {
  const list = nodeAt(nodeAt(node, "cast_type") ?? {}, "type_info") ?? {};
  const item = nodeAt(nodeAt(list, "child_type") ?? {}, "type_info") ?? {};
  return textAt(node, "class") === "CAST" && textAt(item, "name").toLowerCase() === "regtype";
}

/** `'{int,int8}'::regtype[]` as a list of casts of its items; undefined: it is another node. */
export function castOfTypes(node: TreeNode): TreeNode | undefined {
  if (!isTypeList(node)) return undefined;
  const list = nodeAt(castOfItems(node) ?? {}, "child");
  const item = nodeAt(nodeAt(node, "cast_type") ?? {}, "type_info")?.["child_type"];
  if (list === undefined) return undefined;
  const casts = nodesAt(list, "children").map((text) => typedCastNode(text, item, false));
  return { ...list, children: casts };
}

const NAMED: ReadonlySet<string> = new Set([...Object.keys(NAMES), "regtype"]);
const NUMBERS: ReadonlySet<string> = new Set(["BIGINT", "INTEGER", "UINTEGER", "SMALLINT"]);

function castTo(type: string, value: TreeNode, wantsNumber: boolean): CatalogCast {
  if (isText(value)) {
    const text = textAt(nodeAt(value, "value") ?? {}, "value");
    // A number as a text is that number.
    if (/^\d+$/.test(text)) return { template: wantsNumber ? "$1::UINTEGER" : nameOf(type), value };
    return { template: wantsNumber ? numberOf(type) : "$1", value };
  }
  return { template: wantsNumber ? numberOf(type) : nameOf(type), value };
}

function numberOf(type: string): string {
  return type === "regtype" ? TYPE_OID : foundOid(NAMES[type] ?? "class");
}

function nameOf(type: string): string {
  return type === "regtype" ? TYPE_NAME : foundText(NAMES[type] ?? "class");
}

/** Functions that give a text, by which clients put names together. */
const TEXT_CALLS: ReadonlySet<string> = new Set(["||", "concat", "format", "quote_ident"]);

/** Whether it is a name: a text that is written out, cast or put together, or a parameter. */
function isText(node: TreeNode): boolean {
  if (textAt(node, "class") === "PARAMETER") return true;
  if (TEXT_CALLS.has(textAt(node, "function_name").toLowerCase())) return true;
  const type = textAt(nodeAt(node, "cast_type") ?? {}, "id");
  return type === "VARCHAR" || textOfConstant(node) !== undefined;
}

/** The name of a type that DuckDB does not know; empty for any other node. */
function namedType(node: TreeNode): string {
  if (textAt(node, "class") !== "CAST") return "";
  return textAt(nodeAt(nodeAt(node, "cast_type") ?? {}, "type_info") ?? {}, "name").toLowerCase();
}

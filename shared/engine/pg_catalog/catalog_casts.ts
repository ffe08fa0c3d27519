/**
 * Casts to types that only PostgreSQL has. `regclass` and its like are both a number and a name: a
 * text that is written out becomes the number, as in `attrelid = 'events'::regclass`. Anything else
 * becomes the name, as in `SELECT oid::regclass`, unless it is cast to a number next.
 */

import { foundOid, foundText, TYPE_NAME, TYPE_OID } from "./catalog_functions.ts";
import { castNode } from "../statement/tree_nodes.ts";
import { listAt, nodeAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
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
  const innerValue = nodeAt(inner, "child");
  if (NAMED.has(namedType(inner)) && innerValue !== undefined) {
    if (NUMBERS.has(outerType)) return castTo(namedType(inner), innerValue, true);
    if (outerType === "VARCHAR") return castTo(namedType(inner), innerValue, false);
  }
  return NAMED.has(namedType(node)) ? castTo(namedType(node), inner, isText(inner)) : undefined;
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

function isText(node: TreeNode): boolean {
  return textOfConstant(node) !== undefined;
}

/** The name of a type that DuckDB does not know; empty for any other node. */
function namedType(node: TreeNode): string {
  if (textAt(node, "class") !== "CAST") return "";
  return textAt(nodeAt(nodeAt(node, "cast_type") ?? {}, "type_info") ?? {}, "name").toLowerCase();
}

/** `'{r,p}'::text[]`: PostgreSQL writes a list in braces, DuckDB in brackets. */
export function listText(cast: TreeNode): TreeNode {
  const value = nodeAt(cast, "child") ?? {};
  const isList = textAt(nodeAt(cast, "cast_type") ?? {}, "id") === "LIST";
  const constant = nodeAt(value, "value") ?? {};
  const text = textAt(constant, "value");
  if (!isList || !isText(value) || !/^\{.*\}$/s.test(text)) return cast;
  const brackets = `[${text.slice(1, -1)}]`;
  return { ...cast, child: { ...value, value: { ...constant, value: brackets } } };
}

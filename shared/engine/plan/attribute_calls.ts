/**
 * Reads the calls by which a statement names one attribute of a row:
 * `attr_get(attributes, 'x')`, `attributes->>'$.x'`, `json_extract_string(attributes, '/x')`, and
 * casts of them to numbers.
 *
 * A path counts where DuckDB gives it the meaning of one member of the outermost object, and no
 * other. Whatever else it may mean (an element, a member of a member, all members) is left alone.
 */

import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";

/** A call that names one attribute. */
export interface AttributeCall {
  /** What it looks into: a `COLUMN_REF`. */
  readonly column: TreeNode;
  readonly attribute: string;
  /** Whether it fails where the text is no JSON. `attr_get` gives NULL there. */
  readonly fails: boolean;
}

/** A cast of such a call to a type of numbers. */
export interface AttributeCast extends AttributeCall {
  /** The call that is cast. */
  readonly call: TreeNode;
  /** Which columns of numbers give the value. */
  readonly form: "double" | "integer";
}

/**
 * Returns what a call names; undefined for any other node. `textOf` gives the text of a constant
 * expression; by default, of one that is written out.
 */
export function attributeCall(
  node: TreeNode,
  textOf: (path: TreeNode) => string | undefined = constantText,
): AttributeCall | undefined {
  if (textAt(node, "class") !== "FUNCTION") return undefined;
  const name = textAt(node, "function_name").toLowerCase();
  const nameOf = NAMES[name];
  const [column, path, ...more] = nodesAt(node, "children");
  if (nameOf === undefined || column === undefined || path === undefined) return undefined;
  if (more.length > 0 || !isPlainCall(node)) return undefined;
  if (textAt(column, "class") !== "COLUMN_REF") return undefined;
  const text = textOf(path);
  const attribute = text === undefined ? undefined : nameOf(text);
  if (attribute === undefined || !isMember(attribute)) return undefined;
  return { column, attribute, fails: name !== "attr_get" };
}

/** Returns what a cast of a call names; undefined for any other node. */
export function attributeCast(node: TreeNode): AttributeCast | undefined {
  if (textAt(node, "class") !== "CAST") return undefined;
  const form = FORMS[textAt(nodeAt(node, "cast_type") ?? {}, "id")];
  const call = nodeAt(node, "child");
  if (form === undefined || call === undefined) return undefined;
  const named = attributeCall(call);
  return named === undefined ? undefined : { ...named, call, form };
}

/** The member that a path of DuckDB names; undefined where it names anything else. */
export function memberOfPath(path: string): string | undefined {
  if (path.startsWith("$")) return DOTTED.exec(path)?.slice(1).find((name) => name !== undefined);
  if (!path.startsWith("/")) return BARE.test(path) ? path : undefined;
  const pointer = POINTER.exec(path)?.[1];
  return pointer?.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** `$.x` and `$."x"`. A star is a wildcard, also between quotation marks. */
const DOTTED = /^\$\.(?:([^."*\[\]\\#$]+)|"([^"*\\]+)")$/;
/** Text without a sign before it is taken as `$."…"`. */
const BARE = /^[^$\/"*\\][^"*\\]*$/;
const POINTER = /^\/((?:[^\/~]|~[01])+)$/;

/** How each function reads its second argument. */
const NAMES: Readonly<Record<string, (text: string) => string | undefined>> = {
  attr_get: (name) => name,
  "->>": memberOfPath,
  json_extract_string: memberOfPath,
};

const FORMS: Readonly<Record<string, AttributeCast["form"]>> = {
  DOUBLE: "double",
  BIGINT: "integer",
  INTEGER: "integer",
  HUGEINT: "integer",
  DECIMAL: "integer",
};

/** A name of digits is an element where the attributes are an array. */
function isMember(name: string): boolean {
  return name !== "" && name !== "-" && !/^\d+$/.test(name) && !name.includes("\0");
}

/** Without names of arguments, and without what only an aggregate has. */
function isPlainCall(node: TreeNode): boolean {
  return textAt(node, "schema") === "" && textAt(node, "catalog") === "" &&
    nodeAt(node, "filter") === undefined && node["distinct"] !== true &&
    listAt(nodeAt(node, "order_bys") ?? {}, "orders").length === 0 &&
    nodesAt(node, "children").every((child) => textAt(child, "alias") === "");
}

function constantText(node: TreeNode): string | undefined {
  if (textAt(node, "class") !== "CONSTANT") return undefined;
  const value = nodeAt(node, "value");
  const text = value?.["value"];
  return value?.["is_null"] !== true && typeof text === "string" ? text : undefined;
}

/**
 * Reads the calls by which a statement names one attribute of a row:
 * `attr_get(attributes, 'x')`, `attributes->>'$.x'`, `json_extract_string(attributes, '/x')`, and
 * casts of them to numbers. One within nested objects is named by a path (`attributes->>'$.x.y'`,
 * `'/x/y'`) or step by step (`attributes->'x'->>'y'`).
 *
 * A path counts where DuckDB gives it the meaning of one member, and no other. Whatever else it may
 * mean (an element, all members) is left alone.
 */

import { attributeAt } from "../../schema/attribute_path.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

/** A call that names one attribute. */
export interface AttributeCall {
  /** What it looks into: a `COLUMN_REF`. */
  readonly column: TreeNode;
  /** A name, or a path into nested objects (`isNested`). */
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
  const last = stepOf(node, NAMES, textOf);
  if (last === undefined) return undefined;
  const fails = last.function !== "attr_get";
  const names = [...last.names];
  let { from } = last;
  while (fails && textAt(from, "class") !== "COLUMN_REF") {
    const step = stepOf(from, OBJECTS, textOf);
    if (step === undefined) return undefined;
    names.unshift(...step.names);
    from = step.from;
  }
  if (textAt(from, "class") !== "COLUMN_REF" || !names.every(isMember)) return undefined;
  const attribute = attributeAt(names);
  return attribute === undefined ? undefined : { column: from, attribute, fails };
}

/** The calls of a statement that name one attribute each. */
export function attributeCalls(root: TreeNode): readonly AttributeCall[] {
  const calls: AttributeCall[] = [];
  walk(root, (node) => {
    const call = attributeCall(node);
    if (call !== undefined) calls.push(call);
  });
  return calls;
}

interface Step {
  readonly function: string;
  /** What the function looks into. */
  readonly from: TreeNode;
  /** The names that lead from there to what it gives. */
  readonly names: readonly string[];
}

/** A call of one of `functions`. */
function stepOf(
  node: TreeNode,
  functions: typeof NAMES,
  textOf: (path: TreeNode) => string | undefined,
): Step | undefined {
  const call = callOf(node);
  const namesOf = call === undefined ? undefined : functions[call.function];
  if (call === undefined || namesOf === undefined) return undefined;
  const [from, path, ...more] = call.children;
  if (from === undefined || path === undefined || more.length > 0) return undefined;
  const text = textOf(path);
  const names = text === undefined ? undefined : namesOf(text);
  return names === undefined ? undefined : { function: call.function, from, names };
}

function callOf(
  node: TreeNode,
): { readonly function: string; readonly children: readonly TreeNode[] } | undefined {
  switch (textAt(node, "class")) {
    case "FUNCTION":
      if (!isPlainCall(node)) return undefined;
      return {
        function: textAt(node, "function_name").toLowerCase(),
        children: nodesAt(node, "children"),
      };
    // The operator `->`, of which DuckDB's parser does not know whether it makes a function.
    case "LAMBDA":
      return {
        function: "->",
        children: [nodeAt(node, "lhs"), nodeAt(node, "expr")].filter((one) => one !== undefined),
      };
    default:
      return undefined;
  }
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

/** The names that lead to what a path of DuckDB names; undefined where it names no one member. */
export function namesOfPath(path: string): readonly string[] | undefined {
  if (path.startsWith("$")) {
    if (!DOTTED.test(path)) return undefined;
    return [...path.matchAll(DOTTED_NAME)].map(([, plain, quoted]) => plain ?? quoted ?? "");
  }
  if (!path.startsWith("/")) return BARE.test(path) ? [path] : undefined;
  return POINTER.test(path)
    ? path.slice(1).split("/").map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    : undefined;
}

/** `.x` and `."x"`. A star is a wildcard, also between quotation marks. */
const DOTTED_NAME = /\.(?:([^."*\[\]\\#$]+)|"([^"*\\]+)")/g;
const DOTTED = new RegExp(`^\\$(?:${DOTTED_NAME.source})+$`);
/** Text without a sign before it is taken as `$."…"`. */
const BARE = /^[^$\/"*\\][^"*\\]*$/;
const POINTER = /^(?:\/(?:[^\/~]|~[01])+)+$/;

/** How each function reads its second argument. */
const NAMES: Readonly<Record<string, (text: string) => readonly string[] | undefined>> = {
  attr_get: (name) => [name],
  "->>": namesOfPath,
  json_extract_string: namesOfPath,
};

/** Functions that give a member as JSON, in which a further call looks. */
const OBJECTS: typeof NAMES = { "->": namesOfPath, json_extract: namesOfPath };

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

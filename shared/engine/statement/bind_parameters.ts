/**
 * Values for the parameters of a statement: `?`, `$1`, or `$name`. Each becomes a constant of the
 * tree, before anything judges or plans the statement. So a value is never read as SQL, and an
 * index, a summary or the bounds of a file serve it as if it had been written there.
 */

import { OperatingError } from "../../base/errors.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import type { Parameters, ParameterType, ParameterValue, TypedParameter } from "../types.ts";
import type { Statement } from "./parse.ts";
import { isNode, textAt, type TreeNode, type TreeValue } from "./syntax_tree.ts";
import { constantNode, listCastNode, typedCastNode } from "./tree_nodes.ts";
import { writtenAnew } from "./written_anew.ts";

/**
 * Returns the statement with its parameters' values; as it is where the request has none.
 *
 * Errors: `invalid_argument` with reason `bad_parameters` where a parameter has no value, or a
 * value no parameter; those of `parse`.
 */
export async function bindParameters(
  statement: Statement,
  { request: { parameters }, cached }: {
    readonly request: { readonly parameters?: Parameters };
    readonly cached: Pick<EngineConnection, "serialize" | "deserialize">;
  },
): Promise<Statement> {
  if (parameters === undefined) return statement;
  const values = new Map(
    Array.isArray(parameters)
      ? parameters.map((value, at) => [String(at + 1), value])
      : Object.entries(parameters),
  );
  const unused = new Set(values.keys());
  const document = bound(statement.document, (name, isCount) => {
    const value = values.get(name);
    if (value === undefined) throw refusal(`$${name} has no value`, values.size);
    unused.delete(name);
    return constantOf(name, isCount ? countOf(value) : value);
  });
  const [first] = unused;
  if (first !== undefined) throw refusal(`no parameter is $${first}`, values.size);
  return await writtenAnew(statement, document as TreeNode, cached);
}

/** A copy in which `constant` stands for each parameter of that name. */
function bound(
  value: TreeValue,
  constant: (name: string, isCount: boolean) => TreeNode,
  isCount = false,
): TreeValue {
  if (Array.isArray(value)) return value.map((item) => bound(item, constant));
  if (!isNode(value)) return value;
  if (value["class"] === "PARAMETER") {
    const { alias, query_location } = value;
    return { ...constant(textAt(value, "identifier"), isCount), alias, query_location };
  }
  const entries = Object.entries(value).map(([member, inner]) =>
    // Names of parameters, which the parser keeps beside the tree.
    member === "named_param_map"
      ? [member, []]
      : [member, bound(inner, constant, member === "limit" || member === "offset")]
  );
  return Object.fromEntries(entries);
}

/** LIMIT and OFFSET are read as numbers before DuckDB sees them. */
function countOf(value: ParameterValue): ParameterValue {
  if (typeof value !== "object" || value === null || !("text" in value)) return value;
  return value.text !== null && /^\d{1,15}$/.test(value.text) ? Number(value.text) : value;
}

/** Names of a statement's parameters. */
export function parameterNames(value: TreeValue, names: Set<string> = new Set()): Set<string> {
  if (Array.isArray(value)) { for (const item of value) parameterNames(item, names); }
  else if (isNode(value)) {
    if (value["class"] === "PARAMETER") names.add(textAt(value, "identifier"));
    for (const member in value) parameterNames(value[member], names);
  }
  return names;
}

function constantOf(name: string, value: ParameterValue): TreeNode {
  if (typeof value === "object" && value !== null) return typedConstant(name, value);
  if (typeof value === "string" && value.includes("\0")) {
    throw refusal(`the value of $${name} holds the character U+0000`);
  }
  if (typeof value === "string" && !value.isWellFormed()) {
    throw refusal(`the value of $${name} holds half of a surrogate pair`);
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw refusal(`the value of $${name} is no finite number`);
  }
  return constantNode(typeOf(value), value);
}

/** A cast of texts, as if it had been written there. */
function typedConstant(name: string, value: TypedParameter): TreeNode {
  const item = typeNode(value.type);
  if ("text" in value) return typedCastNode(constantOf(name, value.text), item, false);
  return listCastNode(value.items && value.items.map((text) => constantOf(name, text)), item);
}

function typeNode(type: ParameterType): TreeNode {
  const [, width, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(type) ?? [];
  if (width === undefined) {
    const id = type === "TIMESTAMPTZ" ? "TIMESTAMP WITH TIME ZONE" : type;
    return { id, type_info: null };
  }
  return {
    id: "DECIMAL",
    type_info: {
      type: "DECIMAL_TYPE_INFO",
      alias: "",
      extension_info: null,
      width: Number(width),
      scale: Number(scale),
    },
  };
}

function typeOf(value: string | number | boolean | null): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return "VARCHAR";
  if (typeof value === "boolean") return "BOOLEAN";
  return Number.isSafeInteger(value) ? "BIGINT" : "DOUBLE";
}

function refusal(why: string, given?: number): OperatingError {
  const count = given === undefined ? "" : `; parameters has ${given}`;
  return new OperatingError(
    "invalid_argument",
    `Cannot bind the statement's parameters: ${why}${count}. Give a list for ? and $1, an object ` +
      "for $name, of texts, numbers, booleans and nulls",
    { reason: "bad_parameters" },
  );
}

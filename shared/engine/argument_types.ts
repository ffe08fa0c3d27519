/**
 * Types of parameters that are arguments of functions with many types, such as `round($1, 2)`. The
 * binder infers none there. So the types of that argument are looked up in DuckDB's catalog, and
 * one is taken by PostgreSQL's rule: the preferred one of its kind.
 */

import type { EngineConnection } from "./duckdb/driver.ts";
import { quoteText } from "./duckdb/statement_text.ts";
import { nodesAt, textAt, type TreeNode, walk } from "./statement/syntax_tree.ts";

/** Where a parameter stands. */
interface Argument {
  readonly name: string;
  readonly call: string;
  readonly count: number;
  readonly at: number;
}

/** Types of those of the parameters `wanted` for which the catalog tells one. */
export async function argumentTypes(
  connection: Pick<EngineConnection, "texts">,
  root: TreeNode,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const wantedOf = argumentsOf(root).filter(({ name }) => wanted.has(name));
  if (wantedOf.length === 0) return new Map();
  const calls = [...new Set(wantedOf.map(({ call }) => quoteText(call)))];
  const rows = await connection.texts(
    "SELECT DISTINCT function_name, len(parameter_types), generate_subscripts(parameter_types, 1), " +
      "unnest(parameter_types) FROM duckdb_functions() " +
      `WHERE function_name IN (${calls.join(", ")}) AND function_type <> 'macro'`,
  );
  const found = new Map<string, string>();
  for (const { name, call, count, at } of wantedOf) {
    const types = rows.flatMap(([known, length, place, type]) =>
      known === call && Number(length) === count && Number(place) === at + 1 ? [type ?? ""] : []
    );
    const type = preferredType(types);
    if (type !== undefined && !found.has(name)) found.set(name, type);
  }
  return found;
}

function argumentsOf(root: TreeNode): readonly Argument[] {
  const found: Argument[] = [];
  walk(root, (node) => {
    if (node["class"] !== "FUNCTION") return;
    const call = textAt(node, "function_name");
    const children = nodesAt(node, "children");
    children.forEach((child, at) => {
      if (child["class"] !== "PARAMETER") return;
      found.push({ name: textAt(child, "identifier"), call, count: children.length, at });
    });
  });
  return found;
}

const NUMBERS: ReadonlySet<string> = new Set(
  ("DOUBLE BIGINT INTEGER SMALLINT TINYINT HUGEINT FLOAT DECIMAL BIGNUM " +
    "UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT").split(" "),
);
const INSTANTS: ReadonlySet<string> = new Set(["TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE"]);

/**
 * The type that a value of unknown type has for an argument of these types; undefined: a text, or
 * nobody can tell. A list is what a function takes for several values, and rarely sent.
 */
export function preferredType(types: readonly string[]): string | undefined {
  const single = [...new Set(types)].filter((type) => !type.endsWith("]"));
  if (single.length === 1) {
    return /^(?:ANY|T|VARCHAR|NULL|)$/.test(single[0] ?? "") ? undefined : single[0];
  }
  if (single.includes("VARCHAR") || single.includes("ANY")) return undefined;
  const numbers = single.filter((type) => NUMBERS.has(type));
  const instants = single.filter((type) => INSTANTS.has(type));
  if (numbers.length > 0 && instants.length > 0) return undefined;
  return firstOf(["DOUBLE", "BIGINT"], numbers) ??
    firstOf(["TIMESTAMP WITH TIME ZONE", "TIMESTAMP"], instants);
}

function firstOf(preferred: readonly string[], types: readonly string[]): string | undefined {
  return preferred.find((type) => types.includes(type));
}

/**
 * Types of a statement's parameters, for callers that must tell them before they have values. The
 * statement is planned with NULLs, which tells its tables. Then DuckDB binds it as it was sent,
 * over empty tables of the same columns. Nothing runs.
 */

import { argumentTypes } from "./argument_types.ts";
import { emptyRelations } from "./bind/statement_relations.ts";
import { boundStatement } from "./bounds/bound_statement.ts";
import { type EngineConnection, EngineFault } from "./duckdb/driver.ts";
import { exchangeCalls } from "./functions/exchange_calls.ts";
import { gateStatement } from "./gate/gate_statement.ts";
import { catalogStatement } from "./pg_catalog/catalog_statement.ts";
import { planStatement } from "./plan/plan_statement.ts";
import type { PrepareDeps } from "./prepare.ts";
import { bindParameters, parameterNames } from "./statement/bind_parameters.ts";
import { parseSent } from "./statement/parse_sent.ts";
import { type Statement, textAsItIs, textOfTree } from "./statement/parse.ts";
import { shownOf } from "./statement/shown.ts";
import {
  cloneTree,
  nodeAt,
  nodesAt,
  replaceNode,
  textAt,
  type TreeNode,
  walk,
  withRoot,
} from "./statement/syntax_tree.ts";
import { coalesceNode, conjunctionNode, selectNode } from "./statement/tree_nodes.ts";
import type { Deadline } from "./turns/deadline.ts";
import type { QueryRequest } from "./types.ts";

/** Errors: those of `prepareStatement` up to the plan. */
export async function parameterTypes(
  connection: EngineConnection,
  request: QueryRequest,
  { deps, deadline }: { readonly deps: PrepareDeps; readonly deadline: Deadline },
): Promise<ReadonlyMap<string, string | null>> {
  const cached = deps.statements.over(connection);
  const parsed = await parseSent(cached, request.sql);
  const names = [...parameterNames(parsed.document)];
  if (names.length === 0) return new Map();
  // DESCRIBE and SUMMARIZE are told of rows that are made for them.
  if (shownOf(parsed.root) !== undefined) return new Map(names.map((name) => [name, null]));
  const nulls = Object.fromEntries(names.map((name) => [name, null]));
  const context = {
    connection,
    cached,
    request: { ...request, parameters: nulls },
    deps,
    deadline,
  };
  const exchanged = (statement: Statement) => catalogStatement(statement, context);
  const asked = gateStatement(await exchanged(await bindParameters(parsed, context)), context);
  const planned = await planStatement(await boundStatement(asked, context), context);
  using _leases = planned.leases;
  const own = gateStatement(await exchanged(await parseSent(cached, request.sql)), {
    request,
    takesParameters: true,
  });
  const { root, document } = own.statement;
  const lists = itemsOfLists(root);
  itemsOfRows(root);
  const textOf = (select: TreeNode) => textAsItIs(cached, withRoot(document, select));
  const casts = parametersInCasts(root);
  // Binding evaluates constants.
  await exchangeCalls(root, { textOf, stemmed: new Set() });
  const text = await textOfTree(cached, document);
  const relations = emptyRelations({ names: own.names, made: planned.made }, planned.planned);
  deadline.check();
  // Functions of PostgreSQL's catalog that are exchanged may have dropped some.
  const kept = [...parameterNames(document)];
  const told = new Map(await boundTypes(connection, { text, names: kept, relations }));
  const openNames = () => names.filter((name) => (told.get(name) ?? null) === null);
  if (openNames().length > 0) {
    const coalesced = cloneTree(root);
    const operators = coalescedOperands(coalesced);
    const sided = await textOfTree(cached, withRoot(document, coalesced));
    const found = operators.size === 0
      ? []
      : await boundTypes(connection, { text: sided, names: kept, relations });
    for (const [name, type] of found) {
      if (type === null) continue;
      told.set(name, told.get(name) ?? operandType(type, operators.get(name)));
    }
  }
  if (openNames().length > 0 && casts.size > 0) {
    const alone = await textOf(selectNode([...casts.values()]));
    const asked = { text: alone, names: [...casts.keys()], relations: [] };
    for (const [name, type] of await boundTypes(connection, asked)) {
      told.set(name, told.get(name) ?? type);
    }
  }
  const open = new Set(openNames());
  for (const [name, type] of await argumentTypes(connection, root, open)) told.set(name, type);
  return new Map(names.map((name) => {
    const type = told.get(name) ?? null;
    return [name, type !== null && lists.has(name) ? `${type}[]` : type];
  }));
}

/**
 * Makes `x = ANY($1)`, which the parser reads as `x = ANY (SELECT unnest($1))`, an `x = $1`: the
 * binder infers nothing through `unnest`. Returns the parameters that are lists of what it infers.
 */
function itemsOfLists(root: TreeNode): ReadonlySet<string> {
  const lists = new Set<string>();
  walk(root, (node) => {
    if (textAt(node, "subquery_type") !== "ANY") return;
    const query = nodeAt(nodeAt(node, "subquery") ?? {}, "node") ?? {};
    const [call] = nodesAt(query, "select_list");
    const [parameter] = call === undefined ? [] : nodesAt(call, "children");
    if (call?.["function_name"] !== "unnest" || parameter?.["class"] !== "PARAMETER") return;
    lists.add(textAt(parameter, "identifier"));
    const { child, comparison_type: type, alias, query_location } = node;
    replaceNode(node, {
      ...{ class: "COMPARISON", type, alias, query_location, left: child, right: parameter },
    });
  });
  return lists;
}

/**
 * Makes `(x, y) < ($1, $2)` an `x < $1 AND y < $2`: the binder infers nothing within rows, and
 * PostgreSQL compares them member by member.
 */
function itemsOfRows(root: TreeNode): void {
  walk(root, (node) => {
    const [left, right] = [rowOf(nodeAt(node, "left")), rowOf(nodeAt(node, "right"))];
    if (node["class"] !== "COMPARISON" || left === undefined) return;
    if (left.length === 0 || left.length !== right?.length) return;
    const { type, alias, query_location } = node;
    const compared = left.map((item, at): TreeNode => ({
      ...{ class: "COMPARISON", type, alias: "", query_location, left: item },
      right: right[at] ?? null,
    }));
    replaceNode(node, { ...conjunctionNode(compared), alias });
  });
}

function rowOf(node: TreeNode | undefined): readonly TreeNode[] | undefined {
  return node?.["function_name"] === "row" ? nodesAt(node, "children") : undefined;
}

/**
 * Makes `x + $1` a `coalesce(x, $1)`, since the binder infers nothing through operators with many
 * types, and PostgreSQL gives such a parameter the type of `x`. Returns the operators.
 */
function coalescedOperands(root: TreeNode): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  walk(root, (node) => {
    const operator = textAt(node, "function_name");
    if (node["class"] !== "FUNCTION" || !ARITHMETIC.has(operator)) return;
    const [left, right, ...more] = nodesAt(node, "children");
    if (left === undefined || right === undefined || more.length > 0) return;
    const isLeft = left["class"] === "PARAMETER";
    if (isLeft === (right["class"] === "PARAMETER")) return;
    const [parameter, other] = isLeft ? [left, right] : [right, left];
    found.set(textAt(parameter, "identifier"), operator);
    replaceNode(node, { ...coalesceNode([other, parameter]), alias: node["alias"] });
  });
  return found;
}

const ARITHMETIC: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%"]);

/** The type that PostgreSQL takes for the other operand of a value of `type`. */
function operandType(type: string, operator: string | undefined): string {
  // DuckDB's division is one of DOUBLE.
  if (operator === "/" || (type === "INTERVAL" && operator === "*")) return "DOUBLE";
  return /^TIME/.test(type) && operator === "+" ? "INTERVAL" : type;
}

/**
 * Each parameter in its first cast, or as it is where it has none. Where the value of a cast is
 * cast again, as in `$1::INT + 1::BIGINT`, the binder has two types for the parameter and tells
 * none.
 */
function parametersInCasts(root: TreeNode): ReadonlyMap<string, TreeNode> {
  const found = new Map<string, TreeNode>();
  walk(root, (node) => {
    const parameter = node["class"] === "CAST" ? nodeAt(node, "child") : node;
    if (parameter?.["class"] !== "PARAMETER") return;
    const name = textAt(parameter, "identifier");
    if (found.get(name)?.["class"] !== "CAST") found.set(name, cloneTree(node));
  });
  return found;
}

/** Nothing, where the statement cannot be bound: its values will tell why. */
async function boundTypes(
  connection: EngineConnection,
  { text, names, relations }: {
    readonly text: string;
    readonly names: readonly string[];
    readonly relations: ReturnType<typeof emptyRelations>;
  },
): Promise<ReadonlyMap<string, string | null>> {
  try {
    return new Map(await connection.parameterTypes(text, names, relations));
  } catch (error) {
    if (error instanceof EngineFault && error.kind === "statement") return new Map();
    throw error;
  }
}

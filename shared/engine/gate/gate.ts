/**
 * The wall between a caller's SQL and everything that is not the caller's. It judges the parsed
 * tree and is closed by default: kinds of nodes, functions and tables that are not listed are
 * refused.
 *
 * The gate is the first of two walls. The second one is the driver's: no file outside the warehouse
 * can be opened, and no setting can change. A name counts as a table unless a WITH of the same
 * statement certainly defines it, because a name that slips through would reach DuckDB's own
 * catalog.
 *
 * The gate does not bound how much a statement may cost. The price (`shared/engine/cost/cost.ts`),
 * the memory pool and the deadline do.
 */

import { nearestName } from "../../base/nearest_name.ts";
import { ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS } from "./allowed_functions.ts";
import { FOREIGN_FUNCTIONS } from "./foreign_functions.ts";
import { otherNamespace, refusedFunction, refusedSyntax, unknownRelation } from "./refusals.ts";
import {
  HOT_FUNCTIONS,
  type HotCall,
  hotTableName,
  isHotFunction,
  parseHotCall,
  replaceWithTable,
} from "../hot_caches/hot_call.ts";
import type { CatalogRelation } from "../pg_catalog/relation.ts";
import { catalogRelation } from "../pg_catalog/relations.ts";
import { checkGrowth } from "../functions/value_growth.ts";
import {
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";

/** Whose statement is judged, and how messages name a place in it. */
export interface GateOptions {
  /** The caller's own namespace: the only schema a table may be qualified with. */
  readonly namespace: string;
  /** What may stand before the namespace, in any case; default the namespace itself. */
  readonly database?: string;
  /** Where a node stands, such as ` at line 1, column 8`; default nothing. */
  readonly placeOf?: (node: TreeNode) => string;
  /** Whether parameters without values pass, in a statement that will not run; default false. */
  readonly takesParameters?: boolean;
}

/** A place in a statement that reads a stored table. */
export interface TableReference {
  /** Lower-cased name, as DuckDB compares names without case. */
  readonly table: string;
  /** The `BASE_TABLE` node. */
  readonly node: TreeNode;
  /** Set when the table is what this call answers. */
  readonly hot?: HotCall;
}

/** A place in a statement that reads a relation of PostgreSQL's catalog. */
export interface CatalogReference {
  readonly relation: CatalogRelation;
  /** The `BASE_TABLE` node. */
  readonly node: TreeNode;
}

/** What a statement reads. */
export interface GatedReferences {
  readonly references: readonly TableReference[];
  readonly catalog: readonly CatalogReference[];
}

/**
 * Judges a statement, and returns every reference to what it reads, in no particular order. It
 * changes the tree: a call of a hot cache becomes a table, and columns lose their namespace.
 * Errors: `invalid_argument` with reason `refused_function`, `refused_syntax` or `unknown_table`,
 * and those of `parseHotCall` and `checkGrowth`.
 */
export function gate(root: TreeNode, options: GateOptions): GatedReferences {
  const references: TableReference[] = [];
  const catalog: CatalogReference[] = [];
  const { namespace, placeOf = () => "", takesParameters = false } = options;
  const database = (options.database ?? namespace).toLowerCase();
  const found = { references, catalog };
  visitQuery(root, {
    ctes: new Set(),
    recurring: new Set(),
    ...{ ...found, namespace, database, placeOf, takesParameters },
  });
  checkGrowth(root, placeOf);
  unqualifyColumns(root, references, { namespace, database });
  return found;
}

/**
 * Makes `svc.events.raw` `events.raw`. Where a table was named with its namespace, its columns may
 * be, too, and likewise with the database.
 */
function unqualifyColumns(
  root: TreeNode,
  references: readonly TableReference[],
  { namespace, database }: Pick<Scope, "namespace" | "database">,
): void {
  const namedWith = (part: string) =>
    new Set(references.flatMap(({ table, node }) => textAt(node, part) === "" ? [] : [table]));
  const qualified = namedWith("schema_name");
  if (qualified.size === 0) return;
  const whole = namedWith("catalog_name");
  walk(root, (node) => {
    if (textAt(node, "class") !== "COLUMN_REF") return;
    const names = listAt(node, "column_names").map(String);
    const isWhole = names[0]?.toLowerCase() === database && names.length > 3 &&
      whole.has(names[2]?.toLowerCase() ?? "");
    const [schema, table, ...column] = isWhole ? names.slice(1) : names;
    if (column.length === 0 || schema !== namespace) return;
    if (qualified.has(table?.toLowerCase() ?? "")) node["column_names"] = [table, ...column];
  });
}

/**
 * The schema where a recursive WITH with USING KEY finds all of its rows so far, by its own name.
 */
const RECURRING = "recurring";

interface Scope {
  /** Lower-cased names that WITH defines here. */
  readonly ctes: ReadonlySet<string>;
  /** Names among `ctes` that may also stand behind `recurring`. */
  readonly recurring: ReadonlySet<string>;
  readonly references: TableReference[];
  readonly takesParameters: boolean;
  readonly catalog: CatalogReference[];
  readonly namespace: string;
  /** Lower-cased. */
  readonly database: string;
  readonly placeOf: (node: TreeNode) => string;
}

const QUERY_TYPES: ReadonlySet<string> = new Set([
  "SELECT_NODE",
  "SET_OPERATION_NODE",
  "RECURSIVE_CTE_NODE",
]);

/** Every kind of FROM item the parser knows, allowed or not: one is judged wherever it turns up. */
const TABLE_TYPES: ReadonlySet<string> = new Set([
  "BASE_TABLE",
  "BOUND_TABLE_REF",
  "COLUMN_DATA",
  "CTE",
  "DELIM_GET",
  "EMPTY",
  "EMPTY_FROM",
  "EXPRESSION_LIST",
  "JOIN",
  "PIVOT",
  "SHOW_REF",
  "SUBQUERY",
  "TABLE_FUNCTION",
]);

const EXPRESSION_CLASSES: ReadonlySet<string> = new Set([
  "BETWEEN",
  "CASE",
  "CAST",
  "COLLATE",
  "COLUMN_REF",
  "COMPARISON",
  "CONJUNCTION",
  "CONSTANT",
  "FUNCTION",
  "LAMBDA",
  "LAMBDA_REF",
  "OPERATOR",
  "POSITIONAL_REFERENCE",
  "STAR",
  "SUBQUERY",
  "TYPE",
  "WINDOW",
]);

/** Names that DuckDB answers from the session when no column has them. */
const SESSION_NAMES: ReadonlySet<string> = new Set([
  "current_catalog",
  "current_role",
  "current_schema",
  "current_user",
  "session_user",
]);

function visitQuery(node: TreeNode, scope: Scope): void {
  const type = textAt(node, "type");
  if (!QUERY_TYPES.has(type)) throw refusedSyntax(`a query of kind ${type}`);
  const inner = new Set(scope.ctes);
  const recurring = new Set(scope.recurring);
  if (type === "RECURSIVE_CTE_NODE") {
    const name = textAt(node, "cte_name").toLowerCase();
    inner.add(name);
    if (listAt(node, "key_targets").length > 0) recurring.add(name);
  }
  for (const entry of nodesAt(nodeAt(node, "cte_map") ?? {}, "map")) {
    const value = nodeAt(entry, "value") ?? {};
    // A definition sees the ones before it; a recursive one also itself, through its own node.
    visitMembers(value, { ...scope, ctes: new Set(inner), recurring });
    inner.add(textAt(entry, "key").toLowerCase());
  }
  checkSample(nodeAt(node, "sample"));
  const { cte_map: _, ...rest } = node;
  visitMembers(rest, { ...scope, ctes: inner, recurring });
}

/** Judges whatever hangs below `node`, not the node itself. */
function visitMembers(node: TreeNode, scope: Scope): void {
  for (const member in node) visit(node[member], scope, member);
}

function visit(value: TreeValue, scope: Scope, member: string): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, scope, member);
  } else if (isNode(value)) {
    visitNode(value, scope, member);
  }
}

function visitNode(node: TreeNode, scope: Scope, member: string): void {
  const type = textAt(node, "type");
  if (typeof node["class"] === "string") return visitExpression(node, scope);
  if (QUERY_TYPES.has(type) || member === "node") return visitQuery(node, scope);
  if (member === "from_table" || TABLE_TYPES.has(type)) return visitTable(node, scope);
  visitMembers(node, scope);
}

function visitExpression(node: TreeNode, scope: Scope): void {
  const kind = textAt(node, "class");
  if (kind === "PARAMETER" && scope.takesParameters) return;
  if (!EXPRESSION_CLASSES.has(kind)) {
    throw kind === "PARAMETER"
      ? refusedSyntax("a parameter", "; give its value in the request's member parameters")
      : refusedSyntax(`an expression of kind ${kind}`);
  }
  if (kind === "FUNCTION" || kind === "WINDOW") checkFunction(node, scope);
  if (kind === "COLUMN_REF") checkColumn(node, scope);
  visitMembers(node, scope);
}

/** The share of a function's letters by which a mistyped name differs at most. */
const MISTYPED_SHARE = 1 / 3;

function checkFunction(node: TreeNode, { placeOf }: Scope): void {
  const name = textAt(node, "function_name").toLowerCase();
  const schema = textAt(node, "schema");
  // The parser itself qualifies some of its own rewrites with `main`.
  if (textAt(node, "catalog") !== "" || (schema !== "" && schema !== "main")) {
    // `host.upper()` looks like a function of a schema.
    const remedy = ALLOWED_FUNCTIONS.has(name) ? `; write ${name}(${schema}, …)` : "";
    throw refusedFunction(`${schema}.${name}`, placeOf(node), remedy);
  }
  if (!ALLOWED_FUNCTIONS.has(name)) {
    // The parser takes a backtick for an operator.
    if (name.startsWith("`")) {
      throw refusedSyntax("a backtick", `${placeOf(node)}; write names as "name", texts as 'text'`);
    }
    const instead = FOREIGN_FUNCTIONS.get(name);
    if (instead !== undefined) {
      throw refusedFunction(name, placeOf(node), `; write for example ${instead}`);
    }
    const near = nearestName(name, ALLOWED_FUNCTIONS, MISTYPED_SHARE);
    throw refusedFunction(name, placeOf(node), near === undefined ? "" : `; did you mean ${near}?`);
  }
  // No answer can hold a state, and nothing that could read one is allowed.
  if (node["export_state"] === true) throw refusedSyntax("EXPORT_STATE", "; ask for the value");
}

function checkColumn(node: TreeNode, { placeOf }: Scope): void {
  const names = listAt(node, "column_names");
  const [name] = names;
  if (names.length === 1 && typeof name === "string" && SESSION_NAMES.has(name.toLowerCase())) {
    throw refusedFunction(name, placeOf(node));
  }
}

function visitTable(node: TreeNode, scope: Scope): void {
  const type = textAt(node, "type");
  checkSample(nodeAt(node, "sample"));
  switch (type) {
    case "BASE_TABLE":
      visitBaseTable(node, scope);
      break;
    case "TABLE_FUNCTION":
      visitTableFunction(node, scope);
      break;
    case "JOIN":
    case "SUBQUERY":
    case "EXPRESSION_LIST":
    case "EMPTY":
    case "EMPTY_FROM":
      visitMembers(node, scope);
      break;
    case "PIVOT":
      visitPivot(node, scope);
      break;
    default:
      if (type !== "SHOW_REF") throw refusedSyntax(`FROM of kind ${type}`);
      throw refusedSyntax(
        "DESCRIBE, SHOW or SUMMARIZE within another statement",
        "; write it as a statement of its own, or read information_schema.columns",
      );
  }
}

/** The most columns that a PIVOT makes, and columns that an UNPIVOT takes. */
const PIVOT_VALUES_MAX = 1_000;

/** The combinations of a PIVOT's values are its columns, each with all of its aggregates. */
function visitPivot(node: TreeNode, scope: Scope): void {
  let columns = 1;
  for (const pivot of nodesAt(node, "pivots")) {
    if (textAt(pivot, "pivot_enum") !== "" || nodeAt(pivot, "subquery") !== undefined) {
      throw refusedSyntax("PIVOT by a type or a subquery", "; write the values: IN ('a', 'b')");
    }
    columns *= Math.max(1, listAt(pivot, "entries").length);
  }
  columns *= Math.max(1, listAt(node, "aggregates").length);
  if (columns > PIVOT_VALUES_MAX) {
    throw refusedSyntax(
      `a PIVOT of ${columns} columns`,
      `; at most ${PIVOT_VALUES_MAX} are made: GROUP BY gives a row for each`,
    );
  }
  visitMembers(node, scope);
}

/** The most rows that a sample of so many rows has: DuckDB holds all of them in memory. */
const SAMPLE_ROWS_MAX = 100_000;

function checkSample(sample: TreeNode | undefined): void {
  if (sample === undefined || sample["is_percentage"] === true) return;
  const rows = Number(nodeAt(sample, "sample_size")?.["value"]);
  if (rows <= SAMPLE_ROWS_MAX) return;
  throw refusedSyntax(
    `a sample of ${rows} rows`,
    `; at most ${SAMPLE_ROWS_MAX} are drawn: write a share, such as USING SAMPLE 1%`,
  );
}

function visitBaseTable(node: TreeNode, scope: Scope): void {
  const table = textAt(node, "table_name").toLowerCase();
  const schema = textAt(node, "schema_name");
  const catalog = textAt(node, "catalog_name");
  if (nodeAt(node, "at_clause") !== undefined) throw refusedSyntax("AT (time travel)");
  visitMembers(node, scope);
  if (catalog === "" && scope.recurring.has(table) && schema === RECURRING) return;
  const relation = schema === "" && scope.ctes.has(table)
    ? undefined
    : catalogRelation(schema, table);
  const isOther = catalog !== "" && catalog.toLowerCase() !== scope.database;
  if (relation !== undefined && !isOther) {
    scope.catalog.push({ relation, node });
    return;
  }
  if (CATALOG_SCHEMAS.has(schema.toLowerCase())) {
    throw unknownRelation(`${schema}.${table}`, scope.placeOf(node));
  }
  if (isOther || (schema !== "" && schema !== scope.namespace)) {
    throw otherNamespace([catalog, schema, table].filter((part) => part !== "").join("."), {
      table,
      namespace: scope.namespace,
      place: scope.placeOf(node),
    });
  }
  if (schema === "" && scope.ctes.has(table)) return;
  scope.references.push({ table, node });
}

const CATALOG_SCHEMAS: ReadonlySet<string> = new Set(["pg_catalog", "information_schema"]);

function visitTableFunction(node: TreeNode, scope: Scope): void {
  const call = nodeAt(node, "function");
  if (call === undefined || textAt(call, "class") !== "FUNCTION") {
    throw refusedSyntax("this table function");
  }
  const name = textAt(call, "function_name").toLowerCase();
  if (textAt(call, "catalog") !== "" || textAt(call, "schema") !== "") {
    throw refusedFunction(name, scope.placeOf(call));
  }
  if (isHotFunction(name)) return visitHotFunction(node, { name, call, scope });
  if (!ALLOWED_TABLE_FUNCTIONS.has(name)) {
    throw refusedFunction(name, scope.placeOf(call), tableFunctionRemedy(name));
  }
  visitMembers(call, scope);
  const { function: _, ...rest } = node;
  visitMembers(rest, scope);
}

function tableFunctionRemedy(name: string): string {
  if (/^jsonb?_(?:each|tree)(?:_text)?$/.test(name)) {
    return "; unnest(json_keys(x)) gives the names, unnest(json_extract(x, '$.*')) the values";
  }
  const names = [...ALLOWED_TABLE_FUNCTIONS, ...HOT_FUNCTIONS].sort();
  return `; FROM may call ${names.join(", ")}`;
}

/** Puts a table in place of the call, and adds it to the references. */
function visitHotFunction(
  node: TreeNode,
  { name, call, scope }: {
    readonly name: HotCall["kind"];
    readonly call: TreeNode;
    readonly scope: Scope;
  },
): void {
  const hot = parseHotCall(name, call);
  replaceWithTable(node, hot);
  visitMembers(node, scope);
  scope.references.push({ table: hotTableName(hot), node, hot });
}

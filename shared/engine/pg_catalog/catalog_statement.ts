/**
 * Makes a statement of a client that looks into PostgreSQL's catalog one that DuckDB runs: calls
 * and casts of the catalog's become expressions. What such a statement means by `~` is PostgreSQL's
 * meaning, too. A statement that names nothing of the catalog is left as it is.
 */

import { ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS } from "../gate/allowed_functions.ts";
import { listOfAny, listOfText } from "../functions/array_casts.ts";
import type { Statement } from "../statement/parse.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import {
  integerConstant,
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  parseTree,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { callNode, selectNode } from "../statement/tree_nodes.ts";
import type { QueryRequest } from "../types.ts";
import { writtenAnew } from "../statement/written_anew.ts";
import {
  type FunctionContext,
  PLACES_OF_LIST,
  SESSION_WORDS,
  templateOf,
  TYPE_OID,
} from "./catalog_functions.ts";
import { BARE_FUNCTIONS } from "./bare_relations.ts";
import { catalogRelation, sessionOf } from "./relations.ts";
import { sessionStatement } from "./session_operators.ts";
import {
  answeredItem,
  castOf,
  castOfTypes,
  comparedNumbers,
  isCatalogCast,
  isProcText,
} from "./catalog_casts.ts";

const SCHEMAS: ReadonlySet<string> = new Set(["pg_catalog", "information_schema"]);

/** Returns the statement as DuckDB runs it. Errors: the connection's. */
export async function catalogStatement(
  sent: Statement,
  { cached, request: { namespace, session } }: {
    readonly cached: CachedConnection;
    readonly request: Pick<QueryRequest, "namespace" | "session">;
  },
): Promise<Statement> {
  const statement = session === undefined ? sent : await sessionStatement(sent, cached);
  const context = { session: sessionOf(session, namespace), schema: namespace };
  const document = withAnsweredItems(statement.document);
  const { isCatalog, texts } = namedIn(document, context);
  if (!isCatalog) return statement;
  const templates = new Map<string, TreeNode>();
  for (const text of texts) templates.set(text, await expressionOf(text, cached));
  const exchanged = new CatalogExchange(templates, context).value(document);
  return await writtenAnew(statement, exchanged as TreeNode, cached);
}

/** The document with the items of the answer as PostgreSQL tells them. */
function withAnsweredItems(document: TreeNode): TreeNode {
  const statements = nodesAt(document, "statements").map((one) => {
    const node = nodeAt(one, "node") ?? {};
    if (textAt(node, "type") !== "SELECT_NODE") return one;
    const items = nodesAt(node, "select_list").map(answeredItem);
    return { ...one, node: { ...node, select_list: items } };
  });
  return { ...document, statements };
}

/** What a statement names of the catalog, and the expressions that will be needed for it. */
function namedIn(
  root: TreeNode,
  context: FunctionContext,
): { readonly isCatalog: boolean; readonly texts: ReadonlySet<string> } {
  let isCatalog = false;
  const texts = new Set<string>();
  const needs = (text: string) => {
    isCatalog = true;
    texts.add(text);
  };
  walk(root, (node) => {
    const call = callOf(node, context);
    if (call !== undefined) needs(call);
    const cast = castOf(node);
    if (cast !== undefined) texts.add(cast.template);
    for (const side of Object.values(comparedNumbers(node) ?? {})) {
      const number = castOf(side);
      if (number !== undefined) texts.add(number.template);
    }
    // Casts of the items are looked up by it.
    if (castOfTypes(node) !== undefined) texts.add(TYPE_OID);
    if (listsOf(node) !== undefined) texts.add(ORDINALITY);
    isCatalog ||= (cast !== undefined && !isProcText(node)) || isCatalogCast(node) ||
      isCatalogTable(node) || SCHEMAS.has(textAt(node, "schema").toLowerCase());
  });
  return { isCatalog, texts };
}

function isCatalogTable(node: TreeNode): boolean {
  switch (textAt(node, "type")) {
    case "BASE_TABLE":
      return catalogRelation(textAt(node, "schema_name"), textAt(node, "table_name")) !== undefined;
    case "TABLE_FUNCTION":
      return BARE_FUNCTIONS.has(functionName(nodeAt(node, "function") ?? {}));
    default:
      return false;
  }
}

function functionName(call: TreeNode): string {
  return textAt(call, "function_name").toLowerCase();
}

/** Returns the expression for a call or a word, `current_user`; undefined: it is neither. */
function callOf(node: TreeNode, context: FunctionContext): string | undefined {
  const kind = textAt(node, "class");
  if (kind === "FUNCTION") {
    const schema = textAt(node, "schema").toLowerCase();
    if (textAt(node, "catalog") !== "" || (schema !== "" && !SCHEMAS.has(schema))) return undefined;
    const [first, ...others] = nodesAt(node, "children");
    const count = others.length + (first === undefined ? 0 : 1);
    if (first !== undefined && functionName(node) === "generate_series") {
      return functionName(first) === "array_lower" ? PLACES_OF_LIST : undefined;
    }
    const text = first === undefined ? undefined : textOfConstant(first);
    return templateOf(functionName(node), { count, first: text }, context);
  }
  if (kind !== "COLUMN_REF") return undefined;
  const [word, ...more] = listAt(node, "column_names").map((name) => String(name).toLowerCase());
  if (word === undefined || more.length > 0) return undefined;
  return SESSION_WORDS.has(word) ? templateOf(word, { count: 0 }, context) : undefined;
}

async function expressionOf(text: string, cached: CachedConnection): Promise<TreeNode> {
  const document = parseTree(await cached.serialize(`SELECT ${text}`));
  const [statement] = nodesAt(document, "statements");
  const [item] = nodesAt(nodeAt(statement ?? {}, "node") ?? {}, "select_list");
  if (item === undefined) throw new Error(`the parser does not read the expression ${text}`);
  return item;
}

/** Collations of which each compares texts by their bytes, as DuckDB does. */
const BYTE_ORDERS: ReadonlySet<string> = new Set(["pg_catalog.default", "default", "c", "posix"]);

class CatalogExchange {
  constructor(
    private readonly templates: ReadonlyMap<string, TreeNode>,
    private readonly context: FunctionContext,
  ) {}

  /** Returns a copy in which everything of the catalog's is exchanged. */
  value(value: TreeValue): TreeValue {
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    return isNode(value) ? this.#node(value) : value;
  }

  #node(node: TreeNode): TreeNode {
    const compared = comparedNumbers(node);
    if (compared !== undefined) return this.#members({ ...node, ...compared });
    const types = castOfTypes(node);
    if (types !== undefined) return { ...this.#members(types), alias: node["alias"] };
    const cast = castOf(node);
    if (cast !== undefined) return this.#expression(cast.template, [cast.value], node);
    const contained = containedIn(node);
    if (contained !== undefined) return this.#node(contained);
    const call = callOf(node, this.context);
    if (call !== undefined) return this.#expression(call, listAt(node, "children"), node);
    if (textAt(node, "type") === "TABLE_FUNCTION") {
      if (isCatalogTable(node)) return tableOf(node);
      const lists = listsOf(node);
      if (lists !== undefined) return this.#unnested(node, lists);
      if (
        isScalarCall(node) || callOf(nodeAt(node, "function") ?? {}, this.context) !== undefined
      ) {
        return this.#members(rowOf(node));
      }
      const { function: call, ...rest } = namedRows(node);
      return { ...this.#members(rest), function: this.#members(call as TreeNode) };
    }
    if (textAt(node, "class") === "COLLATE" && isByteOrder(node)) {
      return { ...this.#node(nodeAt(node, "child") ?? {}), alias: node["alias"] };
    }
    const copy = this.#members(node);
    switch (textAt(node, "class")) {
      case "FUNCTION":
        return plainCall(copy);
      case "COLUMN_REF":
        return plainColumn(copy);
      case "CAST":
        return isCatalogCast(copy) ? plainCast(copy) : copy;
      default:
        return copy;
    }
  }

  /** `FROM unnest(a, b) WITH ORDINALITY`: DuckDB unnests several lists side by side as items. */
  #unnested(node: TreeNode, lists: readonly TreeNode[]): TreeNode {
    const { alias, query_location, column_name_alias } = node;
    const items = lists.map((list) => callNode("unnest", [this.value(list) as TreeNode]));
    const places = this.#filled(this.templates.get(ORDINALITY), [lists[0]], query_location);
    const hasPlaces = textAt(node, "with_ordinality") === "WITH_ORDINALITY";
    return {
      ...{ type: "SUBQUERY", alias: alias || "unnest", sample: null, query_location },
      ...{ column_name_alias },
      subquery: { node: selectNode(hasPlaces ? [...items, places as TreeNode] : items) },
    };
  }

  #members(node: TreeNode): TreeNode {
    const entries = Object.entries(node).map(([member, value]) =>
      member === "select_list" && Array.isArray(value)
        ? [member, value.map((item) => this.#item(item))]
        : [member, this.value(value)]
    );
    return Object.fromEntries(entries);
  }

  /** An item of a select list, which keeps the name that PostgreSQL gives it. */
  #item(item: TreeValue): TreeValue {
    if (!isNode(item)) return item;
    const exchanged = this.#node(item);
    if (textAt(item, "alias") !== "" || !isChangedItem(item, this.context)) return exchanged;
    return { ...exchanged, alias: nameOf(item) };
  }

  #expression(template: string, values: readonly TreeValue[], node: TreeNode): TreeNode {
    const made = this.#filled(this.templates.get(template), values, node["query_location"]);
    return { ...made as TreeNode, alias: node["alias"] };
  }

  #filled(value: TreeValue, values: readonly TreeValue[], place: TreeValue): TreeValue {
    if (Array.isArray(value)) return value.map((item) => this.#filled(item, values, place));
    if (!isNode(value)) return value;
    if (textAt(value, "class") === "PARAMETER") {
      return this.value(values[Number(textAt(value, "identifier")) - 1]);
    }
    const entries = Object.entries(value).map(([member, inner]) => [
      member,
      member === "query_location" ? place : this.#filled(inner, values, place),
    ]);
    return Object.fromEntries(entries);
  }
}

/**
 * `attnum = ANY (conkey)`, which the parser makes a subquery of: DuckDB joins by none. Undefined:
 * it is another node, or the type of a parameter is to be found by it.
 */
function containedIn(node: TreeNode): TreeNode | undefined {
  if (textAt(node, "comparison_type") !== "COMPARE_EQUAL") return undefined;
  const list = listOfAny(node);
  if (list === undefined || textAt(list, "class") === "PARAMETER") return undefined;
  const items = [listOfText(list) ?? list, nodeAt(node, "child") ?? {}];
  return { ...callNode("list_contains", items), alias: node["alias"] };
}

/** The numbers of a list's items, a row each. */
const ORDINALITY = "unnest(list_transform($1, lambda svc_x, svc_n: svc_n))";

/** The lists of an `unnest` behind FROM that has several; undefined: it is another node. */
function listsOf(node: TreeNode): readonly TreeNode[] | undefined {
  const call = nodeAt(node, "function") ?? {};
  if (textAt(node, "type") !== "TABLE_FUNCTION" || functionName(call) !== "unnest") {
    return undefined;
  }
  const lists = nodesAt(call, "children");
  return lists.length > 1 ? lists : undefined;
}

function isByteOrder(node: TreeNode): boolean {
  return BYTE_ORDERS.has(textAt(node, "collation").toLowerCase());
}

/** Whether an item of a select list has another text now, by which DuckDB would name it. */
function isChangedItem(item: TreeNode, context: FunctionContext): boolean {
  let isChanged = false;
  walk(item, (node) => {
    isChanged ||= callOf(node, context) !== undefined || castOf(node) !== undefined ||
      isCatalogCast(node) || SCHEMAS.has(textAt(node, "schema").toLowerCase());
  });
  return isChanged;
}

/** The name that PostgreSQL gives an item without one. */
function nameOf(item: TreeNode): string {
  switch (textAt(item, "class")) {
    case "FUNCTION":
      return functionName(item).replace("count_star", "count");
    case "COLUMN_REF":
      return String(listAt(item, "column_names").at(-1)).toLowerCase();
    case "CAST": {
      const name = nameOf(nodeAt(item, "child") ?? {});
      return name === NAMELESS ? castName(item) : name;
    }
    case "CASE":
      return "case";
    default:
      return NAMELESS;
  }
}

/** What PostgreSQL calls a column without a name. */
const NAMELESS = "?column?";

/** The name of a cast's type. */
function castName(cast: TreeNode): string {
  const type = nodeAt(cast, "cast_type") ?? {};
  return (textAt(nodeAt(type, "type_info") ?? {}, "name") || textAt(type, "id")).toLowerCase();
}

/**
 * `FROM aclexplode(…)` becomes the relation of that name, which has no row. What
 * `pg_show_all_settings()` gives is the relation `pg_settings`.
 */
function tableOf(node: TreeNode): TreeNode {
  const name = functionName(nodeAt(node, "function") ?? {});
  const relation = name === "pg_show_all_settings" ? "pg_settings" : name;
  const { alias, sample, query_location, column_name_alias } = node;
  return {
    type: "BASE_TABLE",
    ...{ alias: alias || name, sample, query_location, column_name_alias },
    ...{ schema_name: "pg_catalog", table_name: relation, catalog_name: "", at_clause: null },
  };
}

/** `FROM string_to_array(…) s`, in which `s` is the value. */
function isScalarCall(node: TreeNode): boolean {
  const name = functionName(nodeAt(node, "function") ?? {});
  return ALLOWED_FUNCTIONS.has(name) && !ALLOWED_TABLE_FUNCTIONS.has(name);
}

/** `FROM generate_series(…) AS i`: the column is called as its source, and needs no schema. */
function namedRows(node: TreeNode): TreeNode {
  const call = nodeAt(node, "function") ?? {};
  const alias = textAt(node, "alias");
  const names = listAt(node, "column_name_alias");
  return {
    ...node,
    function: plainCall(call),
    column_name_alias: names.length > 0 || alias === "" ? names : [alias],
  };
}

/** A row of the one value that a function gives. */
function rowOf(node: TreeNode): TreeNode {
  const call = nodeAt(node, "function") ?? {};
  const name = textAt(node, "alias") || functionName(call);
  return {
    type: "SUBQUERY",
    ...{ alias: name, sample: null, query_location: node["query_location"] },
    column_name_alias: listAt(node, "column_name_alias"),
    subquery: { node: selectNode([{ ...call, alias: name }]) },
  };
}

/** PostgreSQL divides integers without a rest. */
function isInteger(value: TreeValue): boolean {
  if (!isNode(value)) return false;
  const id = textAt(nodeAt(value, "cast_type") ?? {}, "id");
  return integerConstant(value) !== undefined || ["INTEGER", "BIGINT", "SMALLINT"].includes(id);
}

const OTHER_NAMES: Readonly<Record<string, string>> = {
  regexp_full_match: "regexp_matches",
  json_build_object: "json_object",
  json_agg: "json_group_array",
};

/**
 * A function that both have is called without its schema. PostgreSQL's `~` looks for a match, where
 * DuckDB's wants the whole text to match.
 */
function plainCall(call: TreeNode): TreeNode {
  const name = functionName(call);
  if (name === "/" && listAt(call, "children").every(isInteger)) {
    return { ...call, function_name: "//" };
  }
  const other = OTHER_NAMES[name];
  if (other !== undefined) return { ...call, function_name: other, schema: "" };
  const isQualified = textAt(call, "schema").toLowerCase() === "pg_catalog";
  const isShared = ALLOWED_FUNCTIONS.has(name) || ALLOWED_TABLE_FUNCTIONS.has(name);
  return isQualified && isShared ? { ...call, schema: "" } : call;
}

/** `pg_catalog.pg_class.oid` is `pg_class.oid`. */
function plainColumn(column: TreeNode): TreeNode {
  const [schema, ...names] = listAt(column, "column_names");
  const isQualified = names.length > 1 && SCHEMAS.has(String(schema).toLowerCase());
  return isQualified ? { ...column, column_names: names } : column;
}

/** A cast to a type that DuckDB knows by another name. */
function plainCast(cast: TreeNode): TreeNode {
  const type = textAt(nodeAt(nodeAt(cast, "cast_type") ?? {}, "type_info") ?? {}, "name");
  const id = PLAIN_TYPES[type.toLowerCase()] ?? "VARCHAR";
  return { ...cast, cast_type: { id, type_info: null } };
}

const PLAIN_TYPES: Readonly<Record<string, string>> = { xid: "BIGINT", cid: "BIGINT" };

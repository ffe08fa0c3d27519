/**
 * Rewrites what names an attribute (`attr_get(attributes, 'x')` and its like) to columns that are
 * made of the promoted ones (docs/api/tables.md#promoted-columns). It does so in any clause, and
 * below subqueries, WITHs, set operations and joins. Reading a column costs less than looking
 * through JSON.
 *
 * The answer is the same for every row: where a file's column is not complete, the row is looked up
 * in its attributes as before (`made_columns.ts`). What fails, fails as it did: a made column never
 * fails, and a row without a value there comes to the call or the cast as it was asked.
 *
 * Made columns are hidden: each `*` leaves them out. Queries through which the attributes are
 * passed pass them, too. Where they could show all the same (`COLUMNS(…)`, a natural join, a table
 * as a value), nothing is rewritten.
 */

import { present } from "../../base/assert.ts";
import { isNested } from "../../schema/attribute_path.ts";
import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import {
  castNode,
  coalesceNode,
  columnNode,
  textNode,
  typedCastNode,
} from "../statement/tree_nodes.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import { keepNames } from "../functions/exchange_calls.ts";
import type { TableReference } from "../gate/gate.ts";
import {
  cloneTree,
  listAt,
  nodeAt,
  nodesAt,
  replaceNode,
  someNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import {
  type AttributeTable,
  type AttributeUse,
  attributeUses,
  type Passed,
  type Reach,
  type Star,
} from "./attribute_scopes.ts";
import { type MadeColumn, type MadeForm, servingSources, sourcesOf } from "./made_columns.ts";
import { isWhole, type TablePlan } from "./plan.ts";

/** What became of a statement that names attributes. */
export interface UsedPromoted {
  /** The tables with the columns that the statement then names. */
  readonly tables: readonly TablePlan[];
  /** Whether the tree was changed. */
  readonly isChanged: boolean;
  /** Expressions that were put in place of calls and casts, as fast paths read them. */
  readonly values: AttributeValues;
  /** Attributes that are looked up in JSON, and why; for people. */
  readonly left: readonly LeftAttribute[];
}

/** Expressions of the changed tree that are the value of one made column, and of rows beside it. */
export type AttributeValues = ReadonlyMap<TreeNode, AttributeValue>;

export interface AttributeValue {
  readonly column: Column;
  /** What the expression is for rows without a value in `column`; undefined: NULL. */
  readonly rest: AttributeRest | undefined;
}

export interface AttributeRest {
  /** The column that `sql` reads besides. */
  readonly column: Column;
  /** The whole expression. */
  readonly sql: string;
  /** Whether it may fail. */
  readonly fails: boolean;
}

/** An attribute that is looked up in JSON. */
export interface LeftAttribute {
  readonly attribute: string;
  readonly why: string;
}

interface PromotedOptions {
  readonly references: readonly TableReference[];
  readonly tables: readonly TablePlan[];
  /** Whether columns may be used. */
  readonly isAllowed: boolean;
  /** The text of a SELECT, so that columns keep the names that they had. */
  readonly textOf: (select: TreeNode) => Promise<string>;
}

/** Changes the tree. */
export async function usePromoted(
  root: TreeNode,
  { references, tables, isAllowed, textOf }: PromotedOptions,
): Promise<UsedPromoted> {
  const columns = new HiddenColumns(references, tables);
  const { uses, unknown, stars } = attributeUses(root, columns.attributeTables());
  const left = unknown.map((call) => ({ attribute: call.attribute, why: UNCERTAIN }));
  const refusal = uses.length === 0 ? undefined : refusalOf(root, isAllowed);
  const planned: {
    readonly use: AttributeUse;
    readonly change: () => AttributeValue | undefined;
  }[] = [];
  for (const use of uses) {
    const change = refusal ?? changeOf(use, columns);
    if (typeof change === "string") left.push({ attribute: use.call.attribute, why: change });
    else planned.push({ use, change });
  }
  if (planned.length === 0) return { tables, isChanged: false, values: new Map(), left };
  const nodes = new Set(planned.map(({ use }) => use.node));
  await keepNames(root, { textOf, wants: (item) => holds(item, nodes) });
  const values = new Map<TreeNode, AttributeValue>();
  for (const { use, change } of planned) {
    const value = change();
    if (value !== undefined) values.set(use.node, value);
  }
  columns.hide(stars);
  return { tables: columns.tables(), isChanged: true, values, left };
}

const UNCERTAIN = "it is not certain whose attributes these are";
const SHOWN = "the statement would show hidden columns";
const NAMED = "a name in the statement is like one of hidden columns";
const NO_COLUMN = "no column holds it";
const UNBOUND = "DuckDB does not bind the statement with columns for attributes";

/** Why a statement is left as it is. */
function refusalOf(root: TreeNode, isAllowed: boolean): string | undefined {
  if (!isAllowed) return UNBOUND;
  if (LIKE_HIDDEN.test(JSON.stringify(root))) return NAMED;
  return canHide(root) ? undefined : SHOWN;
}

/** A text in a statement's tree that begins as names of hidden columns do. */
const LIKE_HIDDEN = /"attributes(?:\.[a-z ]+)?:/i;

function holds(item: TreeNode, nodes: ReadonlySet<TreeNode>): boolean {
  return someNode(item, (node) => nodes.has(node));
}

/** How a use is changed, or why it stays. */
function changeOf(
  { node, call, reach, isMatched }: AttributeUse,
  columns: HiddenColumns,
): (() => AttributeValue | undefined) | string {
  const { attribute, fails } = call;
  const isPlain = reach.kind === "table" || reach.passed.isPlain;
  const column = (form: MadeForm) => columns.column(reach, { attribute, form });
  if ("form" in call && !isMatched && isPlain && columns.serves(reach, attribute, call.form)) {
    const { form } = call;
    const isWhole = columns.isWhole(reach, attribute, form);
    if (isWhole || !fails) {
      return () => {
        const number = column(form);
        const rest = isWhole ? undefined : column(`rest of ${form}`);
        return castNumber(node, number, rest);
      };
    }
  }
  if (!columns.serves(reach, attribute, "text")) return NO_COLUMN;
  const isWhole = columns.isWhole(reach, attribute, "text");
  const place = "form" in call ? call.call : node;
  if (!fails || isWhole) {
    return () => void become(place, { ...column("text").node, alias: place["alias"] });
  }
  if (!isPlain) return UNCERTAIN;
  return () => {
    const text = column("text");
    const json = column("json");
    const path = isNested(attribute) ? textNode(attribute) : present(nodesAt(place, "children")[1]);
    const call = { ...place, alias: "", children: [json.node, path] };
    const value = { ...coalesceNode([text.node, call]), alias: place["alias"] };
    become(place, value);
    if (place !== node) return undefined;
    const sql = `coalesce(${quoteName(text.column.name)}, json_extract_string(` +
      `${quoteName(json.column.name)}, ${quoteText(constantText(path))}))`;
    return { column: text.column, rest: { column: json.column, sql, fails: true } };
  };
}

/**
 * Makes a cast the value of a column of numbers, and of the text of rows without a number. A value
 * beyond the type is cast from its text, so that the message is as it was.
 */
function castNumber(
  cast: TreeNode,
  number: NamedColumn,
  rest: NamedColumn | undefined,
): AttributeValue | undefined {
  const { alias, cast_type: to, query_location } = cast;
  const name = textAt(to as TreeNode, "id");
  const isTried = cast["try_cast"] === true;
  const isItself = name === "DOUBLE" || name === "BIGINT";
  const own = (child: TreeNode, tried: boolean) => ({
    ...typedCastNode(child, cloneTree(to), tried),
    query_location,
  });
  const value = (child: TreeNode) =>
    isItself ? child : coalesceNode([
      own(child, true),
      ...isTried ? [] : [own(castNode(cloneTree(child), "VARCHAR"), false)],
    ]);
  if (rest === undefined) {
    become(cast, { ...value(number.node), alias });
    return isItself ? { column: number.column, rest: undefined } : undefined;
  }
  const other = own(rest.node, isTried);
  if (!isItself) {
    become(cast, { ...coalesceNode([value(number.node), other]), alias });
    return undefined;
  }
  become(cast, { ...coalesceNode([number.node, other]), alias });
  const sql = `coalesce(${quoteName(number.column.name)}, ` +
    `${isTried ? "TRY_CAST" : "CAST"}(${quoteName(rest.column.name)} AS ${name}))`;
  return { column: number.column, rest: { column: rest.column, sql, fails: !isTried } };
}

function constantText(node: TreeNode): string {
  return textAt(nodeAt(node, "value") ?? {}, "value");
}

/**
 * Makes `node` the other one. Nothing of what it was stays: others would find the attributes in it.
 */
function become(node: TreeNode, other: TreeNode): void {
  replaceNode(node, { ...other, query_location: node["query_location"] });
}

/** Whether an added column would show in nothing but a `*` that is an item of a select list. */
function canHide(root: TreeNode): boolean {
  const hidable = new Set<TreeNode>();
  const names = new Set<string>();
  const last = new Set<string>();
  let isShown = false;
  walk(root, (node) => {
    for (const item of nodesAt(node, "select_list")) {
      if (item["columns"] === false) hidable.add(item);
    }
    // ORDER BY ALL is a star in the tree.
    for (const { expression } of nodesAt(node, "orders")) hidable.add(expression as TreeNode);
    switch (textAt(node, "class")) {
      case "STAR":
        isShown ||= !hidable.has(node);
        break;
      case "POSITIONAL_REFERENCE":
        isShown = true;
        break;
      case "COLUMN_REF":
        last.add(String(listAt(node, "column_names").at(-1)).toLowerCase());
    }
    switch (textAt(node, "type")) {
      case "JOIN":
        isShown ||= textAt(node, "ref_type") === "NATURAL";
        break;
      // It groups by all columns that it does not name.
      case "PIVOT":
        isShown = true;
        break;
      case "BASE_TABLE":
      case "SUBQUERY":
        names.add((textAt(node, "alias") || textAt(node, "table_name")).toLowerCase());
    }
  });
  // A table's own name as a column means the whole row.
  return !isShown && ![...names].some((name) => name !== "" && last.has(name));
}

interface Wanted {
  readonly attribute: string;
  readonly form: MadeForm;
}

/** A made column where an expression names it. */
interface NamedColumn {
  readonly node: TreeNode;
  readonly column: Column;
}

/** Made columns that are added to tables, and to the queries that pass their attributes. */
class HiddenColumns {
  readonly #plans = new Map<TreeNode, TablePlan>();
  readonly #all: readonly TablePlan[];
  readonly #added = new Map<TablePlan, Map<string, { column: Column; made: MadeColumn }>>();
  readonly #passed = new Map<Passed, Map<string, string>>();
  #names = 0;

  constructor(references: readonly TableReference[], tables: readonly TablePlan[]) {
    this.#all = tables;
    for (const { node, table, hot } of references) {
      const plan = hot === undefined ? tables.find(({ name }) => name === table) : undefined;
      if (plan !== undefined) this.#plans.set(node, plan);
    }
  }

  attributeTables(): AttributeTable[] {
    return [...this.#plans].map(([node, { schema: { columns } }]) => {
      const own = columns.filter(({ name }) => name.toLowerCase() === ATTRIBUTES);
      const isOne = own.length === 1 && own[0]?.name === ATTRIBUTES && own[0].type === "string";
      const lookedInto = isOne ? ATTRIBUTES : undefined;
      return { node, columns: columns.map(({ name }) => name), lookedInto };
    });
  }

  /** Whether some table's promoted column may give the form. */
  serves(reach: Reach, attribute: string, form: MadeForm): boolean {
    return this.#plansOf(reach).some((plan) =>
      servingSources({ form, sources: sourcesOf(plan.stored, attribute) }).length > 0
    );
  }

  /** Whether no row of the tables has to be looked up in JSON. */
  isWhole(reach: Reach, attribute: string, form: MadeForm): boolean {
    return this.#plansOf(reach).every((plan) =>
      isWhole(plan, servingSources({ form, sources: sourcesOf(plan.stored, attribute) }))
    );
  }

  column(reach: Reach, wanted: Wanted): NamedColumn {
    if (reach.kind === "table") {
      const column = this.#columnOf(present(this.#plans.get(reach.node)), wanted);
      return { node: columnNode(reach.qualifier, column.name), column };
    }
    const key = JSON.stringify([wanted.form, wanted.attribute]);
    const known = this.#passed.get(reach.passed) ?? new Map<string, string>();
    this.#passed.set(reach.passed, known);
    let name = known.get(key);
    if (name === undefined) {
      name = `${nameOf(wanted)}#${this.#names += 1}`;
      known.set(key, name);
      this.#pass(reach.passed, wanted, name);
    }
    const column = { id: 0, name, type: typeOf(wanted.form), required: false };
    return { node: columnNode(reach.qualifier, name), column };
  }

  /** Has each star leave out what was added below it. */
  hide(stars: readonly Star[]): void {
    for (const { item, tables, hidden } of stars) {
      const names = new Set([
        ...tables.flatMap((node) => {
          const plan = this.#plans.get(node);
          return plan === undefined ? [] : this.#namesOf(plan);
        }),
        ...hidden.flat(),
      ]);
      item["exclude_list"] = [...listAt(item, "exclude_list"), ...names];
    }
  }

  tables(): readonly TablePlan[] {
    return this.#all.map((table) => {
      const added = [...this.#added.get(table)?.values() ?? []];
      if (added.length === 0) return table;
      const { schema, made } = table;
      return {
        ...table,
        schema: { ...schema, columns: [...schema.columns, ...added.map(({ column }) => column)] },
        made: new Map([...made, ...added.map(({ column, made }) => [column.name, made] as const)]),
      };
    });
  }

  #namesOf(plan: TablePlan): readonly string[] {
    return [...this.#added.get(plan)?.values() ?? []].map(({ column }) => column.name);
  }

  /** Gives a query a hidden column of that name, and what it takes it from. */
  #pass(passed: Passed, wanted: Wanted, name: string): void {
    passed.hidden.push(name);
    if (passed.kind === "sides") {
      for (const side of passed.sides) this.#pass(side, wanted, name);
      return;
    }
    const { node } = this.column(passed.inner, wanted);
    const { select } = passed;
    select["select_list"] = [...listAt(select, "select_list"), { ...node, alias: name }];
  }

  #columnOf(plan: TablePlan, wanted: Wanted): Column {
    const added = this.#added.get(plan) ?? new Map<string, { column: Column; made: MadeColumn }>();
    this.#added.set(plan, added);
    const key = JSON.stringify([wanted.form, wanted.attribute]);
    const known = added.get(key);
    if (known !== undefined) return known.column;
    const sources = mostCompleteFirst(plan, sourcesOf(plan.stored, wanted.attribute));
    const made = { ...wanted, sources };
    const [source] = servingSources(made);
    const isValue = wanted.form === "text" || wanted.form === typeForm(wanted.form);
    const column: Column = {
      // Summaries know it by the column that serves it.
      id: source !== undefined && isValue ? source.id : -(added.size + 1),
      name: freeName(nameOf(wanted), [...added.values()].map(({ column }) => column.name)),
      type: typeOf(wanted.form),
      required: false,
    };
    added.set(key, { column, made });
    return column;
  }

  #plansOf(reach: Reach): readonly TablePlan[] {
    return tablesOf(reach).map((node) => present(this.#plans.get(node)));
  }
}

function typeForm(form: MadeForm): MadeForm | undefined {
  return form === "double" || form === "integer" ? form : undefined;
}

function tablesOf(reach: Reach): readonly TreeNode[] {
  return reach.kind === "table" ? [reach.node] : tablesOfPassed(reach.passed);
}

function tablesOfPassed(passed: Passed): readonly TreeNode[] {
  return passed.kind === "select"
    ? tablesOf(passed.inner)
    : passed.sides.flatMap((side) => tablesOfPassed(side));
}

function mostCompleteFirst(
  { files, isComplete }: TablePlan,
  sources: readonly Column[],
): readonly Column[] {
  if (sources.length < 2) return sources;
  const complete = new Map(
    sources.map((source) => [source, files.filter((file) => isComplete(file, source)).length]),
  );
  return sources.toSorted((a, b) => (complete.get(b) ?? 0) - (complete.get(a) ?? 0));
}

/** `name`, or with a number where another column has it: DuckDB tells names apart without case. */
function freeName(name: string, others: readonly string[]): string {
  const taken = new Set(others.map((other) => other.toLowerCase()));
  let free = name;
  for (let at = 2; taken.has(free.toLowerCase()); at += 1) free = `${name}#${at}`;
  return free;
}

function nameOf({ attribute, form }: Wanted): string {
  return `${HIDDEN_NAMES[form]}:${attribute}`;
}

/** Names before the colon, which no other columns have (`isUnasked`). */
const HIDDEN_NAMES: Readonly<Record<MadeForm, string>> = {
  text: ATTRIBUTES,
  json: `${ATTRIBUTES}.json`,
  double: `${ATTRIBUTES}.number`,
  integer: `${ATTRIBUTES}.integer`,
  "rest of double": `${ATTRIBUTES}.text without number`,
  "rest of integer": `${ATTRIBUTES}.text without integer`,
  typed: `${ATTRIBUTES}.typed`,
};

function typeOf(form: MadeForm): ColumnType {
  return form === "double" ? "double" : form === "integer" ? "long" : "string";
}

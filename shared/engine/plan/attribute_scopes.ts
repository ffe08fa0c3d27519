/**
 * Finds the calls of a statement that look into a stored table's `attributes`, or into another
 * column of it, and how each of them reaches the table. It follows the column through subqueries,
 * WITHs, stars, aliases and set operations, from the tables up.
 *
 * What is not certain is no call: a name that two tables may have, an alias of that name, a source
 * whose columns are not known.
 */

import { isAggregate } from "../fast_paths/weighted_aggregates.ts";
import {
  columnNames,
  itemName,
  lower,
  qualifierOf,
  renamedColumns,
  ScopeWalker,
  type Surroundings,
} from "../statement/scope_walker.ts";
import {
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import {
  type AttributeCall,
  attributeCall,
  type AttributeCast,
  attributeCast,
} from "./attribute_calls.ts";

/** A stored table where the statement names it. */
export interface AttributeTable {
  /** The `BASE_TABLE` node. */
  readonly node: TreeNode;
  readonly columns: readonly string[];
  /** Lower-cased name of the column that is looked into; undefined: it has none. */
  readonly lookedInto: string | undefined;
}

/** How an expression names a table's attributes. */
export type Reach =
  | { readonly kind: "table"; readonly qualifier: string; readonly node: TreeNode }
  | { readonly kind: "query"; readonly qualifier: string; readonly passed: Passed };

/** A column of a query that is a table's attributes as they are. */
export type Passed =
  & {
    /** Whether rows are left as they are: nothing compares them as a whole. */
    readonly isPlain: boolean;
    /** Names of hidden columns that the query has been given. */
    readonly hidden: string[];
  }
  & (
    | { readonly kind: "select"; readonly select: TreeNode; readonly inner: Reach }
    | { readonly kind: "sides"; readonly sides: readonly Passed[] }
  );

/** A `*` or `t.*` among the items of a SELECT, and what it is of. */
export interface Star {
  readonly item: TreeNode;
  /** Stored tables. */
  readonly tables: readonly TreeNode[];
  /** Hidden columns of each query that it is of, as it will have them. */
  readonly hidden: readonly (readonly string[])[];
}

/** What looks into a column. */
export interface ColumnCall {
  /** A `COLUMN_REF`. */
  readonly column: TreeNode;
}

/** A call that looks into a stored table's column. */
export interface ColumnUse<C extends ColumnCall> {
  /** The call, or the cast of one. */
  readonly node: TreeNode;
  readonly call: C;
  readonly reach: Reach;
  /** Whether its own query has the column: an inner one may have another table of that name. */
  readonly isOwn: boolean;
  /** Whether another expression of its SELECT may have to be the same, as GROUP BY wants it. */
  readonly isMatched: boolean;
}

/** A call that looks into attributes. */
export type AttributeUse = ColumnUse<AttributeCall | AttributeCast>;

/** What was found of a statement. */
export interface ColumnUses<C extends ColumnCall> {
  readonly uses: readonly ColumnUse<C>[];
  /** Calls of which it is not certain that they look into a stored table's column. */
  readonly unknown: readonly C[];
  readonly stars: readonly Star[];
}

/** Finds the calls below `root` that look into attributes. */
export function attributeUses(
  root: TreeNode,
  tables: readonly AttributeTable[],
): ColumnUses<AttributeCall | AttributeCast> {
  return columnUses(root, tables, (node) => attributeCast(node) ?? attributeCall(node));
}

/** Finds the calls below `root` that `callOf` knows. */
export function columnUses<C extends ColumnCall>(
  root: TreeNode,
  tables: readonly AttributeTable[],
  callOf: (node: TreeNode) => C | undefined,
): ColumnUses<C> {
  const resolver = new Resolver(tables, callOf);
  resolver.query(root, { ctes: new Map(), scopes: [] });
  return { uses: resolver.uses, unknown: resolver.unknown, stars: resolver.stars };
}

interface OutputColumn {
  /** Lower-cased. */
  readonly name: string;
  readonly passed?: Passed | undefined;
}

/** What a query gives. */
interface Output {
  /** undefined: not all of them are known. */
  readonly columns: readonly OutputColumn[] | undefined;
  /** Names of hidden columns that it has been given. */
  readonly hidden: string[];
}

const UNKNOWN: Output = { columns: undefined, hidden: [] };

interface SourceColumn {
  readonly name: string;
  readonly reach?: Reach | undefined;
}

interface Source {
  /** Lower-cased; columns may be qualified with it. */
  readonly name: string;
  readonly columns: readonly SourceColumn[] | undefined;
  /** The stored table that it is. */
  readonly table?: TreeNode;
  /** Hidden columns of the query that it is. */
  readonly hidden?: readonly string[];
}

/** What names mean in a SELECT. */
interface Scope {
  readonly sources: readonly Source[];
  /** Names that may mean something else besides, in some clause: aliases, and what joins merge. */
  readonly doubtful: ReadonlySet<string>;
  readonly isGrouped: boolean;
  /** Reaches of which all attributes are grouped by: calls then follow from them. */
  readonly grouped: Reach[];
  /** The clause that is visited. */
  clause: string;
  /** Whether an argument of an aggregate is visited. */
  inAggregate: boolean;
}

type Around = Surroundings<Output, Scope>;

class Resolver<C extends ColumnCall> extends ScopeWalker<Output, Source, Scope> {
  readonly uses: ColumnUse<C>[] = [];
  readonly unknown: C[] = [];
  readonly stars: Star[] = [];
  protected override readonly nothing = UNKNOWN;
  readonly #tables: ReadonlyMap<TreeNode, AttributeTable>;

  constructor(
    tables: readonly AttributeTable[],
    private readonly callOf: (node: TreeNode) => C | undefined,
  ) {
    super();
    this.#tables = new Map(tables.map((table) => [table.node, table]));
  }

  protected override recursive(): Output {
    return UNKNOWN;
  }

  protected override renamed({ columns, hidden }: Output, aliases: readonly TreeValue[]): Output {
    return { columns: columns && renamedColumns(columns, aliases), hidden };
  }

  protected override beside(sources: readonly Source[]): Scope {
    return scopeOf(sources);
  }

  protected override inLambda(): Scope {
    return anyNames();
  }

  protected override setOperation(
    node: TreeNode,
    all: readonly Output[],
    around: Around,
  ): Output {
    this.visit(node["modifiers"], { ...around, scopes: [anyNames(), ...around.scopes] });
    const sides = all.map(({ columns }) => columns);
    const [first, ...others] = sides;
    const type = textAt(node, "setop_type");
    if (first === undefined || sides.includes(undefined) || type.endsWith("BY_NAME")) {
      return UNKNOWN;
    }
    const isPlain = type === "UNION" && node["setop_all"] === true;
    const hidden: string[] = [];
    const columns = first.map(({ name, passed }, at): OutputColumn => {
      const all = [passed, ...others.map((side) => side?.[at]?.passed)];
      const every = all.filter((one) => one !== undefined);
      if (every.length < all.length) return { name };
      const arePlain = isPlain && every.every((one) => one.isPlain);
      return { name, passed: { kind: "sides", sides: every, isPlain: arePlain, hidden } };
    });
    return { columns, hidden };
  }

  protected override select(node: TreeNode, around: Around): Output {
    const from = nodeAt(node, "from_table");
    const sources = this.sources(from, around);
    const items = nodesAt(node, "select_list");
    const isGrouped = listAt(node, "group_expressions").length > 0 ||
      textAt(node, "aggregate_handling") === "FORCE_AGGREGATES";
    const scope = scopeOf(sources, {
      doubtful: new Set([...mergedNames(from), ...aliasesOf(items)]),
      isGrouped,
    });
    const inner = { ...around, scopes: [scope, ...around.scopes] };
    if (isGrouped) scope.grouped.push(...this.#groupedWhole(node, inner));
    const { cte_map: _, from_table: __, ...rest } = node;
    scope.clause = "where_clause";
    this.visitJoins(from, inner);
    for (const member in rest) {
      scope.clause = member;
      this.visit(rest[member], inner);
    }
    for (const item of items) if (isStar(item)) this.stars.push(starOf(item, sources));
    if (!isGrouped) return this.#outputOf(node, { items, scope, around: inner });
    return items.some(isStar) || items.some(isOpenItem)
      ? UNKNOWN
      : { columns: items.map(named), hidden: [] };
  }

  /** The attributes that a SELECT groups by as a whole. */
  #groupedWhole(node: TreeNode, around: Around): Reach[] {
    const [scope] = around.scopes;
    const items = [
      ...nodesAt(node, "group_expressions"),
      ...nodesAt(node, "select_list"),
      ...groupedByHaving(node),
    ];
    return items.flatMap((item) => {
      if (isStar(item)) {
        return scope?.sources.flatMap(({ columns = [] }) =>
          columns.flatMap(({ reach = [] }) => reach)
        ) ?? [];
      }
      return this.#reachOf(item, around.scopes)?.reach ?? [];
    });
  }

  #outputOf(
    select: TreeNode,
    { items, scope, around }: {
      readonly items: readonly TreeNode[];
      readonly scope: Scope;
      readonly around: Around;
    },
  ): Output {
    const isPlain = !nodesAt(select, "modifiers")
      .some((modifier) => textAt(modifier, "type") === "DISTINCT_MODIFIER");
    const hidden: string[] = [];
    const passed = (reach: Reach | undefined): Passed | undefined =>
      reach === undefined ? undefined : {
        ...{ kind: "select", select, inner: reach, hidden },
        isPlain: isPlain && (reach.kind === "table" || reach.passed.isPlain),
      };
    const columns: OutputColumn[] = [];
    for (const item of items) {
      if (isOpenItem(item)) return UNKNOWN;
      if (!isStar(item)) {
        const found = this.#reachOf(item, around.scopes);
        const isOwn = found !== undefined && found.scope === scope;
        columns.push({ ...named(item), ...(isOwn ? { passed: passed(found.reach) } : {}) });
        continue;
      }
      const starred = starColumns(item, scope.sources);
      if (starred === undefined) return UNKNOWN;
      columns.push(...starred.map(({ name, reach }) => ({ name, passed: passed(reach) })));
    }
    return { columns, hidden };
  }

  protected override sourceOf(from: TreeNode, output: Output = UNKNOWN): Source {
    const qualifier = qualifierOf(from);
    const aliases = listAt(from, "column_name_alias");
    const table = this.#tables.get(from);
    return table === undefined
      ? querySource(this.renamed(output, aliases), qualifier)
      : tableSource(table, qualifier, aliases);
  }

  protected override visitNode(node: TreeNode, around: Around): void {
    const call = this.callOf(node);
    if (call !== undefined) return this.#visitCall(node, call, around);
    const [scope] = around.scopes;
    const before = scope?.inAggregate ?? false;
    if (scope !== undefined && isAggregate(node)) scope.inAggregate = true;
    super.visitNode(node, around);
    if (scope !== undefined) scope.inAggregate = before;
  }

  #visitCall(
    node: TreeNode,
    call: C,
    { scopes }: Around,
  ): void {
    const found = this.#reachOf(call.column, scopes);
    if (found === undefined) {
      this.unknown.push(call);
      return;
    }
    const { reach, scope } = found;
    const isFree = scope.clause === "where_clause" || scope.inAggregate;
    if (!isFree && scope.grouped.some((one) => isSame(one, reach))) {
      this.unknown.push(call);
      return;
    }
    const isOwn = scope === scopes[0];
    this.uses.push({ node, call, reach, isOwn, isMatched: scope.isGrouped && !isFree });
  }

  /** The attributes that a `COLUMN_REF` certainly names; undefined for anything else. */
  #reachOf(
    node: TreeNode,
    scopes: readonly Scope[],
  ): { readonly reach: Reach; readonly scope: Scope } | undefined {
    const names = columnNames(node);
    const [first, second] = names;
    if (first === undefined || names.length > 2) return undefined;
    for (const scope of scopes) {
      const found = second === undefined
        ? unqualified(first, scope)
        : qualified([first, second], scope);
      if (found === "unknown") return undefined;
      if (found !== undefined) return { reach: found, scope };
    }
    return undefined;
  }
}

/** The columns that GROUP BY ALL groups by because HAVING names them, be it by an alias. */
function groupedByHaving(select: TreeNode): readonly TreeNode[] {
  if (textAt(select, "aggregate_handling") !== "FORCE_AGGREGATES") return [];
  const named = (root: TreeNode | undefined) => {
    const columns: TreeNode[] = [];
    walk(root, (node) => {
      if (listAt(node, "column_names").length > 0) columns.push(node);
      return !isAggregate(node);
    });
    return columns;
  };
  const columns = named(nodeAt(select, "having"));
  const names = new Set(columns.map((column) => columnNames(column).join(".")));
  const items = nodesAt(select, "select_list")
    .filter((item) => names.has(textAt(item, "alias").toLowerCase()));
  return [...columns, ...items.flatMap(named)];
}

/** Looks a name up in one scope. Undefined: it is not there; an outer scope may have it. */
function unqualified(name: string, { sources, doubtful }: Scope): Reach | "unknown" | undefined {
  if (doubtful.has(name) || sources.some(({ columns }) => columns === undefined)) return "unknown";
  const columns = sources.flatMap(({ columns = [] }) => columns.filter((one) => one.name === name));
  const [column] = columns;
  if (column === undefined) return undefined;
  return columns.length > 1 ? "unknown" : column.reach ?? "unknown";
}

function qualified(
  [table, name]: readonly [string, string],
  { sources }: Scope,
): Reach | "unknown" | undefined {
  const named = sources.filter((source) => source.name === table);
  const mayBeColumn = sources.some(({ columns }) =>
    columns === undefined || columns.some((column) => column.name === table)
  );
  const [source] = named;
  if (source === undefined) return mayBeColumn ? "unknown" : undefined;
  if (named.length > 1 || source.columns === undefined) return "unknown";
  // A column of that name may be a struct.
  if (sources.some((one) => one.columns?.some((column) => column.name === table))) return "unknown";
  const columns = source.columns.filter((column) => column.name === name);
  const [column] = columns;
  return columns.length === 1 ? column?.reach ?? "unknown" : "unknown";
}

function isSame(one: Reach, other: Reach): boolean {
  if (one.kind === "table") return other.kind === "table" && one.node === other.node;
  return other.kind === "query" && one.passed === other.passed && one.qualifier === other.qualifier;
}

function scopeOf(
  sources: readonly Source[],
  { doubtful = new Set<string>(), isGrouped = false }: Partial<
    Pick<Scope, "doubtful" | "isGrouped">
  > = {},
): Scope {
  return { sources, doubtful, isGrouped, grouped: [], clause: "", inAggregate: false };
}

/** The scope of names that may be anything. */
function anyNames(): Scope {
  return scopeOf([{ name: "", columns: undefined }]);
}

function tableSource(
  { columns, lookedInto, node }: AttributeTable,
  qualifier: string,
  aliases: readonly TreeValue[],
): Source {
  const reach: Reach = { kind: "table", qualifier, node };
  const own = columns.map(lower).map((name, at): SourceColumn => {
    if (at < aliases.length) return { name: lower(String(aliases[at])) };
    return name === lookedInto && aliases.length === 0 ? { name, reach } : { name };
  });
  return { name: lower(qualifier), columns: own, table: node };
}

function querySource({ columns, hidden }: Output, qualifier: string): Source {
  return {
    name: lower(qualifier),
    hidden,
    columns: columns?.map(({ name, passed }) => ({
      name,
      // A query without a name cannot be told from others.
      reach: passed === undefined || qualifier === ""
        ? undefined
        : { kind: "query", qualifier, passed },
    })),
  };
}

function isStar(item: TreeNode): boolean {
  return textAt(item, "class") === "STAR" && item["columns"] === false;
}

function starOf(item: TreeNode, sources: readonly Source[]): Star {
  const relation = lower(textAt(item, "relation_name"));
  const own = sources.filter(({ name }) => relation === "" || name === relation);
  return {
    item,
    tables: own.flatMap(({ table }) => table === undefined ? [] : [table]),
    hidden: own.flatMap(({ hidden }) => hidden === undefined ? [] : [hidden]),
  };
}

/** The columns of `*` or `table.*`, less EXCLUDE; undefined where they are not known. */
function starColumns(item: TreeNode, sources: readonly Source[]): SourceColumn[] | undefined {
  const relation = lower(textAt(item, "relation_name"));
  const changes = ["replace_list", "rename_list", "qualified_exclude_list"].some((list) =>
    listAt(item, list).length > 0
  );
  const starred = sources.filter(({ name }) => relation === "" || name === relation);
  if (changes || starred.some(({ columns }) => columns === undefined)) return undefined;
  const excluded = new Set(listAt(item, "exclude_list").map((name) => lower(String(name))));
  return starred.flatMap(({ columns = [] }) => columns)
    .filter(({ name }) => !excluded.has(name));
}

/** Whether an item may have columns of any name. */
function isOpenItem(item: TreeNode): boolean {
  const kind = textAt(item, "class");
  if (kind === "STAR") return !isStar(item);
  return kind === "FUNCTION" && textAt(item, "alias") === "" &&
    textAt(item, "function_name").toLowerCase() === "unnest";
}

function named(item: TreeNode): OutputColumn {
  return { name: itemName(item) };
}

/** Aliases that are not the name of the column that they stand for. */
function aliasesOf(items: readonly TreeNode[]): string[] {
  return items.flatMap((item) => {
    const alias = lower(textAt(item, "alias"));
    return alias === "" || columnNames(item).at(-1) === alias ? [] : [alias];
  });
}

/** Names of columns that joins with USING merge. */
function mergedNames(from: TreeNode | undefined): string[] {
  if (from === undefined || textAt(from, "type") !== "JOIN") return [];
  return [
    ...listAt(from, "using_columns").map((name) => lower(String(name))),
    ...mergedNames(nodeAt(from, "left")),
    ...mergedNames(nodeAt(from, "right")),
  ];
}

/**
 * Finds the column references of a statement whose words are compared by their stems (tokenizer
 * `stem`). It follows names through the scopes of the statement, from the tables up.
 *
 * A column stays what it is through a subquery, a WITH, a star and an alias. What an expression
 * makes of it is plain text. A column of a set operation is stemmed when it is so on all sides.
 *
 * Columns of another kind are followed in the same way, where `keeps` tells which expressions are
 * of that kind, too.
 */

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
} from "../statement/syntax_tree.ts";

/** A stored table where the statement names it. */
export interface NamedTable {
  /** The `BASE_TABLE` node. */
  readonly node: TreeNode;
  readonly columns: readonly string[];
  /** Names of its stemmed columns, in any case of letters. */
  readonly stemmed: ReadonlySet<string>;
}

/** Whether an expression is of the kind that `isOne` tells of the expressions below it. */
export type KeepsKind = (node: TreeNode, isOne: (node: TreeNode) => boolean) => boolean;

/** Returns the `COLUMN_REF` nodes below `root` that name stemmed columns of `tables`. */
export function stemmedReferences(
  root: TreeNode,
  tables: readonly NamedTable[],
  keeps: KeepsKind = () => false,
): ReadonlySet<TreeNode> {
  if (tables.every(({ stemmed }) => stemmed.size === 0)) return new Set();
  const resolver = new Resolver(tables, keeps);
  resolver.query(root, { ctes: new Map(), scopes: [] });
  return resolver.found;
}

interface Column {
  /** Lower-cased. */
  readonly name: string;
  readonly isStemmed: boolean;
}

type Columns = readonly Column[];

interface Source {
  /** Lower-cased name; columns may be qualified with it. */
  readonly name: string;
  readonly columns: Columns;
}

/** What names mean in a SELECT. */
interface Scope {
  readonly sources: readonly Source[];
  /** Items of the SELECT list by their aliases. */
  readonly aliases: ReadonlyMap<string, TreeNode>;
}

type Around = Surroundings<Columns, Scope>;

class Resolver extends ScopeWalker<Columns, Source, Scope> {
  readonly found = new Set<TreeNode>();
  protected override readonly nothing: Columns = [];
  readonly #tables: ReadonlyMap<TreeNode, Columns>;

  constructor(tables: readonly NamedTable[], private readonly keeps: KeepsKind) {
    super();
    this.#tables = new Map(tables.map(({ node, columns, stemmed }) => {
      const names = new Set([...stemmed].map(lower));
      return [
        node,
        columns.map(lower).map((name) => ({ name, isStemmed: names.has(name) })),
      ];
    }));
  }

  protected override recursive(start: Columns, aliases: readonly TreeValue[]): Columns {
    return renamedColumns(start, aliases);
  }

  protected override renamed(columns: Columns, aliases: readonly TreeValue[]): Columns {
    return renamedColumns(columns, aliases);
  }

  protected override beside(sources: readonly Source[]): Scope {
    return { sources, aliases: new Map() };
  }

  /** The scope of the names before the colon. */
  protected override inLambda(lambda: TreeNode): Scope {
    const left = nodeAt(lambda, "lhs") ?? {};
    const nodes = textAt(left, "class") === "COLUMN_REF" ? [left] : nodesAt(left, "children");
    const columns = nodes.map((node) => ({
      name: columnNames(node).at(-1) ?? "",
      isStemmed: false,
    }));
    return this.beside([{ name: "", columns }]);
  }

  protected override setOperation(
    node: TreeNode,
    sides: readonly Columns[],
    around: Around,
  ): Columns {
    const byName = textAt(node, "setop_type").endsWith("BY_NAME");
    const [first = [], ...others] = sides;
    const names = byName
      ? [...new Map(sides.flat().map((column) => [column.name, column])).values()]
      : first;
    this.visit(node["modifiers"], {
      ...around,
      scopes: [this.beside([{ name: "", columns: names }]), ...around.scopes],
    });
    return names.map(({ name, isStemmed }, at) => ({
      name,
      isStemmed: isStemmed &&
        (byName ? sides : others).every((side) =>
          (byName ? side.find((one) => one.name === name) : side[at])?.isStemmed ?? byName
        ),
    }));
  }

  protected override select(node: TreeNode, around: Around): Columns {
    const sources = this.sources(nodeAt(node, "from_table"), around);
    const items = nodesAt(node, "select_list");
    const aliases = new Map(
      items.filter((item) => textAt(item, "alias") !== "")
        .map((item) => [lower(textAt(item, "alias")), item]),
    );
    const inner = { ...around, scopes: [{ sources, aliases }, ...around.scopes] };
    const { cte_map: _, from_table: from, ...rest } = node;
    this.visitJoins(from, inner);
    for (const member in rest) this.visit(rest[member], inner);
    return items.flatMap((item) => this.#outputOf(item, { sources, around: inner }));
  }

  #outputOf(
    item: TreeNode,
    { sources, around }: { readonly sources: readonly Source[]; readonly around: Around },
  ): Columns {
    if (textAt(item, "class") === "STAR") return starred(item, sources);
    return [{ name: itemName(item), isStemmed: this.#isStemmed(item, around) }];
  }

  protected override sourceOf(from: TreeNode, output?: Columns): Source {
    const aliases = listAt(from, "column_name_alias");
    // A function's columns have no names but the aliases.
    const columns = this.#tables.get(from) ?? output ??
      aliases.map(() => ({ name: "", isStemmed: false }));
    return { name: lower(qualifierOf(from)), columns: renamedColumns(columns, aliases) };
  }

  protected override visitNode(node: TreeNode, around: Around): void {
    if (textAt(node, "class") !== "COLUMN_REF") super.visitNode(node, around);
    else if (this.#isStemmed(node, around)) this.found.add(node);
  }

  #isStemmed(node: TreeNode, { scopes }: Pick<Around, "scopes">): boolean {
    if (textAt(node, "class") !== "COLUMN_REF") {
      return this.keeps(node, (below) => this.#isStemmed(below, { scopes }));
    }
    const [first = "", second] = columnNames(node);
    for (const [depth, { sources, aliases }] of scopes.entries()) {
      const named = second === undefined
        ? columnsNamed(sources, first)
        : columnsNamed(sources.filter(({ name }) => name === first), second);
      if (named.length > 0) return named.some(({ isStemmed }) => isStemmed);
      const alias = second === undefined ? aliases.get(first) : undefined;
      if (alias === undefined) continue;
      // An alias is not resolved by another alias, so there are no circles.
      return this.#isStemmed(alias, {
        scopes: [this.beside(sources), ...scopes.slice(depth + 1)],
      });
    }
    return false;
  }
}

function columnsNamed(sources: readonly Source[], name: string): Columns {
  return sources.flatMap(({ columns }) => columns.filter((column) => column.name === name));
}

/** Returns the columns of `*` or `table.*`, less EXCLUDE, with what REPLACE and RENAME say. */
function starred(item: TreeNode, sources: readonly Source[]): Columns {
  const relation = lower(textAt(item, "relation_name"));
  const replaced = new Set(nodesAt(item, "replace_list").map((one) => lower(textAt(one, "key"))));
  const excluded = new Set(listAt(item, "exclude_list").map((name) => lower(String(name))));
  const names = new Map(
    nodesAt(item, "rename_list").map((one) => [
      lower(textAt(nodeAt(one, "key") ?? {}, "column")),
      lower(textAt(one, "value")),
    ]),
  );
  return sources.filter(({ name }) => relation === "" || name === relation)
    .flatMap(({ columns }) => columns)
    .filter(({ name }) => !excluded.has(name))
    .map(({ name, isStemmed }) => ({
      name: names.get(name) ?? name,
      isStemmed: isStemmed && !replaced.has(name),
    }));
}

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
  isNode,
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

interface OutputColumn {
  /** Lower-cased. */
  readonly name: string;
  readonly isStemmed: boolean;
}

interface Source {
  /** Lower-cased name; columns may be qualified with it. */
  readonly name: string;
  readonly columns: readonly OutputColumn[];
}

/** What names mean in a SELECT. */
interface Scope {
  readonly sources: readonly Source[];
  /** Items of the SELECT list by their aliases. */
  readonly aliases: ReadonlyMap<string, TreeNode>;
}

interface Surroundings {
  readonly ctes: ReadonlyMap<string, readonly OutputColumn[]>;
  /** Scopes, the innermost first. */
  readonly scopes: readonly Scope[];
}

class Resolver {
  readonly found = new Set<TreeNode>();
  readonly #tables: ReadonlyMap<TreeNode, readonly OutputColumn[]>;

  constructor(tables: readonly NamedTable[], private readonly keeps: KeepsKind) {
    this.#tables = new Map(tables.map(({ node, columns, stemmed }) => {
      const names = new Set([...stemmed].map(lower));
      return [
        node,
        columns.map(lower).map((name) => ({ name, isStemmed: names.has(name) })),
      ];
    }));
  }

  /** Visits a query and returns its columns. */
  query(node: TreeNode, around: Surroundings): readonly OutputColumn[] {
    const ctes = new Map(around.ctes);
    for (const entry of nodesAt(nodeAt(node, "cte_map") ?? {}, "map")) {
      const value = nodeAt(entry, "value") ?? {};
      const own = this.#nested(nodeAt(value, "query"), { ...around, ctes });
      ctes.set(lower(textAt(entry, "key")), renamed(own, listAt(value, "aliases")));
    }
    const inner = { ...around, ctes };
    switch (textAt(node, "type")) {
      case "SELECT_NODE":
        return this.#select(node, inner);
      case "RECURSIVE_CTE_NODE": {
        const left = renamed(
          this.query(nodeAt(node, "left") ?? {}, inner),
          listAt(node, "aliases"),
        );
        ctes.set(lower(textAt(node, "cte_name")), left);
        this.query(nodeAt(node, "right") ?? {}, inner);
        return left;
      }
      default:
        return this.#setOperation(node, inner);
    }
  }

  #setOperation(node: TreeNode, around: Surroundings): readonly OutputColumn[] {
    // A set operation has two sides, or more in a list.
    const sides = [nodeAt(node, "left"), nodeAt(node, "right"), ...nodesAt(node, "children")]
      .filter((side) => side !== undefined)
      .map((side) => this.query(side, around));
    const byName = textAt(node, "setop_type").endsWith("BY_NAME");
    const [first = [], ...others] = sides;
    const names = byName
      ? [...new Map(sides.flat().map((column) => [column.name, column])).values()]
      : first;
    this.#visit(node["modifiers"], {
      ...around,
      scopes: [{ sources: [{ name: "", columns: names }], aliases: new Map() }, ...around.scopes],
    });
    return names.map(({ name, isStemmed }, at) => ({
      name,
      isStemmed: isStemmed &&
        (byName ? sides : others).every((side) =>
          (byName ? side.find((one) => one.name === name) : side[at])?.isStemmed ?? byName
        ),
    }));
  }

  #select(node: TreeNode, around: Surroundings): readonly OutputColumn[] {
    const sources = this.#sources(nodeAt(node, "from_table"), around);
    const items = nodesAt(node, "select_list");
    const aliases = new Map(
      items.filter((item) => textAt(item, "alias") !== "")
        .map((item) => [lower(textAt(item, "alias")), item]),
    );
    const inner = { ...around, scopes: [{ sources, aliases }, ...around.scopes] };
    const { cte_map: _, from_table: from, ...rest } = node;
    this.#visitJoins(from, inner);
    for (const member in rest) this.#visit(rest[member], inner);
    return items.flatMap((item) => this.#outputOf(item, { sources, around: inner }));
  }

  #outputOf(
    item: TreeNode,
    { sources, around }: { readonly sources: readonly Source[]; readonly around: Surroundings },
  ): readonly OutputColumn[] {
    const kind = textAt(item, "class");
    if (kind === "STAR") return starred(item, sources);
    const names = listAt(item, "column_names");
    const name = textAt(item, "alias") || (kind === "COLUMN_REF" ? String(names.at(-1)) : "");
    return [{ name: lower(name), isStemmed: this.#isStemmed(item, around) }];
  }

  /** Returns the sources that a FROM item brings. It does not look at conditions of joins. */
  #sources(from: TreeNode | undefined, around: Surroundings): readonly Source[] {
    if (from === undefined) return [];
    const aliases = listAt(from, "column_name_alias");
    const source = (name: string, columns: readonly OutputColumn[]) => [
      { name: lower(textAt(from, "alias") || name), columns: renamed(columns, aliases) },
    ];
    switch (textAt(from, "type")) {
      case "BASE_TABLE": {
        const name = textAt(from, "table_name");
        return source(name, this.#tables.get(from) ?? around.ctes.get(lower(name)) ?? []);
      }
      case "SUBQUERY":
        return source("", this.#nested(nodeAt(from, "subquery"), around));
      case "JOIN": {
        const left = this.#sources(nodeAt(from, "left"), around);
        // A lateral item sees what stands before it.
        const beside = { sources: left, aliases: new Map() };
        const scopes = [beside, ...around.scopes];
        return [...left, ...this.#sources(nodeAt(from, "right"), { ...around, scopes })];
      }
      default:
        return source(
          "",
          aliases.map((alias) => ({ name: lower(String(alias)), isStemmed: false })),
        );
    }
  }

  /** Visits the query of a nested statement, `{ node }`, and returns its columns. */
  #nested(statement: TreeNode | undefined, around: Surroundings): readonly OutputColumn[] {
    const node = statement === undefined ? undefined : nodeAt(statement, "node");
    return node === undefined ? [] : this.query(node, around);
  }

  /** Visits the expressions of a FROM item. Its subqueries were visited for their columns. */
  #visitJoins(from: TreeValue, around: Surroundings): void {
    if (!isNode(from)) return;
    const { left, right, subquery: _, ...rest } = from;
    this.#visitJoins(left, around);
    this.#visitJoins(right, around);
    for (const member in rest) this.#visit(rest[member], around);
  }

  #visit(value: TreeValue, around: Surroundings): void {
    if (Array.isArray(value)) {
      for (const item of value) this.#visit(item, around);
    } else if (isNode(value)) {
      this.#visitNode(value, around);
    }
  }

  #visitNode(node: TreeNode, around: Surroundings): void {
    switch (textAt(node, "class")) {
      case "COLUMN_REF":
        if (this.#isStemmed(node, around)) this.found.add(node);
        return;
      case "SUBQUERY":
        this.#nested(nodeAt(node, "subquery"), around);
        this.#visit(node["child"], around);
        return;
      case "LAMBDA":
        this.#visit(node["expr"], { ...around, scopes: [parameters(node), ...around.scopes] });
        return;
      default:
        for (const member in node) this.#visit(node[member], around);
    }
  }

  #isStemmed(node: TreeNode, { scopes }: Pick<Surroundings, "scopes">): boolean {
    if (textAt(node, "class") !== "COLUMN_REF") {
      return this.keeps(node, (below) => this.#isStemmed(below, { scopes }));
    }
    const [first = "", second] = listAt(node, "column_names").map((name) => lower(String(name)));
    for (const [depth, { sources, aliases }] of scopes.entries()) {
      const named = second === undefined
        ? columnsNamed(sources, first)
        : columnsNamed(sources.filter(({ name }) => name === first), second);
      if (named.length > 0) return named.some(({ isStemmed }) => isStemmed);
      const alias = second === undefined ? aliases.get(first) : undefined;
      if (alias === undefined) continue;
      // An alias is not resolved by another alias, so there are no circles.
      return this.#isStemmed(alias, {
        scopes: [{ sources, aliases: new Map() }, ...scopes.slice(depth + 1)],
      });
    }
    return false;
  }
}

function columnsNamed(sources: readonly Source[], name: string): readonly OutputColumn[] {
  return sources.flatMap(({ columns }) => columns.filter((column) => column.name === name));
}

/** Returns the columns of `*` or `table.*`, less EXCLUDE, with what REPLACE and RENAME say. */
function starred(item: TreeNode, sources: readonly Source[]): readonly OutputColumn[] {
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

/** Returns `columns`, of which the first have `aliases` in place of their own names. */
function renamed(
  columns: readonly OutputColumn[],
  aliases: readonly TreeValue[],
): readonly OutputColumn[] {
  return columns.map((column, at) =>
    at < aliases.length ? { ...column, name: lower(String(aliases[at])) } : column
  );
}

/** Returns the scope of the names before the colon of a lambda. */
function parameters(lambda: TreeNode): Scope {
  const left = nodeAt(lambda, "lhs") ?? {};
  const nodes = textAt(left, "class") === "COLUMN_REF" ? [left] : nodesAt(left, "children");
  const columns = nodes.map((node) => ({
    name: lower(String(listAt(node, "column_names").at(-1))),
    isStemmed: false,
  }));
  return { sources: [{ name: "", columns }], aliases: new Map() };
}

function lower(name: string): string {
  return name.toLowerCase();
}

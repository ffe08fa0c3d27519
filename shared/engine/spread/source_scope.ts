/**
 * The names that the expressions of one SELECT can mean: columns of its FROM, and aliases of its
 * select list. Aliases are replaced by what they stand for. Expressions that DuckDB takes for one
 * get the same key, by which groups are found again in other clauses.
 */

import {
  cloneTree,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { sourceNames } from "../statement/scope_walker.ts";
import { isClass, mapTree, namesOf, unnamed } from "./tree_parts.ts";
import { Unsplit } from "./types.ts";

/** Which meaning of a name wins where a column and an alias have it. */
export type Precedence = "column" | "alias";

/** The names of one SELECT. */
export class SourceScope {
  /** How many columns of FROM have a name, by the name in lower case. */
  readonly #columns = new Map<string, number>();
  readonly #sources: ReadonlySet<string>;
  /** Columns that USING merges, whose qualified names may differ in their values. */
  readonly #merged: ReadonlySet<string>;
  readonly #aliases = new Map<string, TreeNode>();
  readonly #doubled = new Set<string>();

  /** `columns`: the names of `SELECT *` from the same FROM. */
  constructor(select: TreeNode, columns: readonly string[]) {
    for (const column of columns) {
      const name = column.toLowerCase();
      this.#columns.set(name, (this.#columns.get(name) ?? 0) + 1);
    }
    const from = nodeAt(select, "from_table") ?? {};
    this.#sources = sourceNames(from);
    this.#merged = mergedNames(from);
    for (const item of nodesAt(select, "select_list")) {
      const alias = textAt(item, "alias").toLowerCase();
      if (alias === "") continue;
      if (this.#aliases.has(alias)) this.#doubled.add(alias);
      else this.#aliases.set(alias, item);
    }
  }

  hasColumn(name: string): boolean {
    return this.#columns.has(name.toLowerCase());
  }

  /** The column that a reference reads, in lower case; undefined: not known to be one. */
  columnOf(node: TreeNode): string | undefined {
    const names = namesOf(node).map((name) => name.toLowerCase());
    const [first = "", second] = names;
    const isQualified = second !== undefined && this.#sources.has(first);
    const name = isQualified ? second : first;
    return this.#columns.get(name) === 1 ? name : undefined;
  }

  /** Whether a reference begins with the name of what it reads in FROM. */
  isQualified(node: TreeNode): boolean {
    const [source = "", ...more] = namesOf(node);
    return more.length > 0 && this.#sources.has(source.toLowerCase());
  }

  /** Whether a reference reads one side of a column that USING merges. */
  isMerged(node: TreeNode): boolean {
    const column = namesOf(node)[1]?.toLowerCase() ?? "";
    return this.isQualified(node) && this.#merged.has(column);
  }

  /** The item of the select list that an unqualified name means as an alias. */
  aliased(node: TreeNode): TreeNode | undefined {
    const [name = "", ...more] = namesOf(node);
    if (!isClass(node, "COLUMN_REF") || more.length > 0) return undefined;
    const alias = name.toLowerCase();
    if (this.#aliases.has(alias) && this.#doubled.has(alias)) {
      throw new Unsplit(`it has two columns ${name} and reads one of them by this name`);
    }
    return this.#aliases.get(alias);
  }

  /**
   * A copy of an expression with all aliases replaced. `isKept` says which nodes stay as they are,
   * whatever their names are.
   */
  inlined(
    node: TreeNode,
    first: Precedence = "column",
    isKept: (node: TreeNode) => boolean = () => false,
  ): TreeNode {
    return this.#inlined(node, { first, isKept, depth: 0 });
  }

  #inlined(
    node: TreeNode,
    at: {
      readonly first: Precedence;
      readonly isKept: (node: TreeNode) => boolean;
      readonly depth: number;
    },
  ): TreeNode {
    if (at.depth > ALIAS_DEPTH_MAX) throw new Unsplit("its aliases name each other");
    const parameters = lambdaParameters(node);
    return mapTree(node, (inner) => {
      if (at.isKept(inner)) return cloneTree(inner);
      // Names within a subquery are its own.
      if (isClass(inner, "SUBQUERY")) {
        return this.#withChild(inner, (child) => this.#inlined(child, at));
      }
      if (!isClass(inner, "COLUMN_REF")) return undefined;
      const [name = ""] = namesOf(inner);
      if (parameters.has(name.toLowerCase())) return cloneTree(inner);
      const item = this.aliasedIn(inner, at.first);
      if (item === undefined || item === node) return cloneTree(inner);
      const stood = this.#inlined(item, { ...at, first: "column", depth: at.depth + 1 });
      return { ...stood, alias: inner["alias"] };
    });
  }

  /** The item that a name means where `first` wins. */
  aliasedIn(node: TreeNode, first: Precedence): TreeNode | undefined {
    if (first === "column" && this.hasColumn(namesOf(node)[0] ?? "")) return undefined;
    return this.aliased(node);
  }

  /** A text that is equal for expressions that DuckDB takes for one. */
  keyOf(node: TreeNode): string {
    return JSON.stringify(this.#plain(unnamed(node)), (member, value) => {
      if (member === "query_location") return undefined;
      return member === "function_name" ? String(value).toLowerCase() : value;
    });
  }

  #plain(node: TreeNode): TreeNode {
    const parameters = lambdaParameters(node);
    return mapTree(node, (inner) => {
      if (isClass(inner, "SUBQUERY")) return this.#withChild(inner, (child) => this.#plain(child));
      if (isClass(inner, "COLUMN_REF")) return this.#plainColumn(inner, parameters);
      return undefined;
    });
  }

  /** A subquery, with what it is compared to. */
  #withChild(subquery: TreeNode, of: (child: TreeNode) => TreeNode): TreeNode {
    const child = nodeAt(subquery, "child");
    return { ...cloneTree(subquery), child: child === undefined ? null : of(child) };
  }

  #plainColumn(node: TreeNode, parameters: ReadonlySet<string>): TreeNode {
    const names = namesOf(node).map((name) => name.toLowerCase());
    const [source = "", column] = names;
    const isQualified = column !== undefined && this.#sources.has(source) &&
      !parameters.has(source) && !this.#merged.has(column) && this.#columns.get(column) === 1;
    const alias = textAt(node, "alias");
    return { ...node, alias, column_names: isQualified ? names.slice(1) : names };
  }
}

/** Aliases that stand for aliases that stand for aliases. */
const ALIAS_DEPTH_MAX = 32;

/** Lower-cased names of columns that a join of this FROM makes one of two. */
function mergedNames(from: TreeNode): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: TreeNode) => {
    if (textAt(node, "type") !== "JOIN") return;
    for (const name of listAt(node, "using_columns")) names.add(String(name).toLowerCase());
    for (const side of ["left", "right"]) visit(nodeAt(node, side) ?? {});
  };
  visit(from);
  return names;
}

/** Lower-cased names that lambdas in an expression give their parameters. */
export function lambdaParameters(node: TreeNode): ReadonlySet<string> {
  const names = new Set<string>();
  walk(node, (inner) => {
    if (!isClass(inner, "LAMBDA")) return;
    walk(inner["lhs"], (parameter) => {
      for (const name of namesOf(parameter)) names.add(name.toLowerCase());
    });
  });
  return names;
}

/**
 * Walks a statement by its scopes, from the tables up: which columns each query gives, and what
 * names mean where an expression stands. It knows how DuckDB's syntax tree nests queries: WITHs,
 * subqueries, joins, set operations and lambdas. What is followed through them, and what a name
 * means, is the matter of the classes that extend it.
 */

import {
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
} from "./syntax_tree.ts";

/** What stands around a query or an expression. */
export interface Surroundings<Output, Scope> {
  /** What queries of WITH give, by their lower-cased names. */
  readonly ctes: ReadonlyMap<string, Output>;
  /** Scopes, the innermost first. */
  readonly scopes: readonly Scope[];
}

/**
 * `Output` is what a query gives, `Source` what an item of FROM brings, and `Scope` what names mean
 * in a SELECT.
 */
export abstract class ScopeWalker<Output, Source, Scope> {
  /** Visits a query and returns what it gives. */
  query(node: TreeNode, around: Surroundings<Output, Scope>): Output {
    const ctes = new Map(around.ctes);
    for (const entry of nodesAt(nodeAt(node, "cte_map") ?? {}, "map")) {
      const value = nodeAt(entry, "value") ?? {};
      const own = this.#nested(nodeAt(value, "query"), { ...around, ctes });
      ctes.set(lower(textAt(entry, "key")), this.renamed(own, listAt(value, "aliases")));
    }
    const inner = { ...around, ctes };
    switch (textAt(node, "type")) {
      case "SELECT_NODE":
        return this.select(node, inner);
      case "RECURSIVE_CTE_NODE": {
        const start = this.query(nodeAt(node, "left") ?? {}, inner);
        const all = this.recursive(start, listAt(node, "aliases"));
        ctes.set(lower(textAt(node, "cte_name")), all);
        this.query(nodeAt(node, "right") ?? {}, inner);
        return all;
      }
      default:
        return this.setOperation(node, sidesOf(node).map((side) => this.query(side, inner)), inner);
    }
  }

  /** Visits a SELECT, and returns what it gives. */
  protected abstract select(node: TreeNode, around: Surroundings<Output, Scope>): Output;

  /** Visits what a set operation has beside its sides, and returns what it gives. */
  protected abstract setOperation(
    node: TreeNode,
    sides: readonly Output[],
    around: Surroundings<Output, Scope>,
  ): Output;

  /** What a recursive WITH gives that begins with `start`. */
  protected abstract recursive(start: Output, aliases: readonly TreeValue[]): Output;

  /** `output`, of which the first columns have `aliases` in place of their own names. */
  protected abstract renamed(output: Output, aliases: readonly TreeValue[]): Output;

  /** What a query gives of which nothing is known. */
  protected abstract readonly nothing: Output;

  /** What an item of FROM brings that is no join. `output`: what it gives if it is a query. */
  protected abstract sourceOf(from: TreeNode, output: Output | undefined): Source;

  /** What names mean beside `sources`, the items of FROM to the left of a lateral one. */
  protected abstract beside(sources: readonly Source[]): Scope;

  /** What names mean in the expression of a lambda. */
  protected abstract inLambda(lambda: TreeNode): Scope;

  /** Returns what the items of FROM bring. It does not look at conditions of joins. */
  protected sources(
    from: TreeNode | undefined,
    around: Surroundings<Output, Scope>,
  ): readonly Source[] {
    if (from === undefined) return [];
    switch (textAt(from, "type")) {
      case "EMPTY":
        return [];
      case "BASE_TABLE":
        return [this.sourceOf(from, around.ctes.get(lower(textAt(from, "table_name"))))];
      case "SUBQUERY":
        return [this.sourceOf(from, this.#nested(nodeAt(from, "subquery"), around))];
      case "JOIN": {
        const left = this.sources(nodeAt(from, "left"), around);
        // A lateral item sees what stands before it.
        const scopes = [this.beside(left), ...around.scopes];
        return [...left, ...this.sources(nodeAt(from, "right"), { ...around, scopes })];
      }
      default:
        return [this.sourceOf(from, undefined)];
    }
  }

  /** Visits the expressions of a FROM item. Its subqueries were visited for their columns. */
  protected visitJoins(from: TreeValue, around: Surroundings<Output, Scope>): void {
    if (!isNode(from)) return;
    const { left, right, subquery: _, ...rest } = from;
    this.visitJoins(left, around);
    this.visitJoins(right, around);
    for (const member in rest) this.visit(rest[member], around);
  }

  /** Visits all expressions of `value`. */
  protected visit(value: TreeValue, around: Surroundings<Output, Scope>): void {
    if (Array.isArray(value)) {
      for (const item of value) this.visit(item, around);
    } else if (isNode(value)) {
      this.visitNode(value, around);
    }
  }

  /** Visits what is below an expression. */
  protected visitNode(node: TreeNode, around: Surroundings<Output, Scope>): void {
    switch (textAt(node, "class")) {
      case "SUBQUERY":
        this.#nested(nodeAt(node, "subquery"), around);
        return this.visit(node["child"], around);
      case "LAMBDA":
        return this.visit(node["expr"], {
          ...around,
          scopes: [this.inLambda(node), ...around.scopes],
        });
      default:
        for (const member in node) this.visit(node[member], around);
    }
  }

  /** Visits the query of a nested statement, `{ node }`, and returns what it gives. */
  #nested(statement: TreeNode | undefined, around: Surroundings<Output, Scope>): Output {
    const node = statement === undefined ? undefined : nodeAt(statement, "node");
    return node === undefined ? this.nothing : this.query(node, around);
  }
}

/** The name that qualifies columns of an item of FROM, as it is written. */
export function qualifierOf(from: TreeNode): string {
  return textAt(from, "alias") || textAt(from, "table_name");
}

/** The items of FROM that are no joins. */
export function leavesOf(from: TreeNode): readonly TreeNode[] {
  if (textAt(from, "type") !== "JOIN") return [from];
  return [nodeAt(from, "left"), nodeAt(from, "right")].flatMap((side) =>
    side === undefined ? [] : leavesOf(side)
  );
}

/** Lower-cased names by which columns of a FROM can be qualified. */
export function sourceNames(from: TreeNode): ReadonlySet<string> {
  return new Set(leavesOf(from).map((leaf) => lower(qualifierOf(leaf))));
}

/** Returns `columns`, of which the first have `aliases` in place of their own names. */
export function renamedColumns<Column extends { readonly name: string }>(
  columns: readonly Column[],
  aliases: readonly TreeValue[],
): readonly Column[] {
  return columns.map((column, at) =>
    at < aliases.length ? { ...column, name: lower(String(aliases[at])) } : column
  );
}

/** The parts of a `COLUMN_REF`'s name, lower-cased; none for anything else. */
export function columnNames(node: TreeNode): readonly string[] {
  return textAt(node, "class") === "COLUMN_REF"
    ? listAt(node, "column_names").map((name) => lower(String(name)))
    : [];
}

/** The name of an item of a SELECT's list, lower-cased; empty if it has none of its own. */
export function itemName(item: TreeNode): string {
  return lower(textAt(item, "alias")) || (columnNames(item).at(-1) ?? "");
}

/** Names are compared without regard to case. */
export function lower(name: string): string {
  return name.toLowerCase();
}

/** A set operation has two sides, or more in a list. */
function sidesOf(node: TreeNode): readonly TreeNode[] {
  return [nodeAt(node, "left"), nodeAt(node, "right"), ...nodesAt(node, "children")]
    .filter((side) => side !== undefined);
}

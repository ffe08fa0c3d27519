/** A SELECT that is cut in two, with what its clauses need to know of it. */

import type { DescribedColumn } from "../duckdb/driver.ts";
import {
  integerConstant,
  listAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { contains } from "./find_cut.ts";
import { SourceScope } from "./source_scope.ts";
import { isClass, namesOf, starNode } from "./tree_parts.ts";
import { Unsplit } from "./types.ts";

/** The surroundings of a SELECT that is cut. */
export interface CutDeps {
  /** Binds a query where the SELECT stands. Errors: `EngineFault`. */
  readonly describe: (query: TreeNode) => Promise<readonly DescribedColumn[]>;
  /** Rows of its answer that are wanted at most; `Infinity`: all. */
  readonly rowsMax: number;
  readonly averages: boolean;
  /** Begins the names of the worker's columns; no name of the statement begins so. */
  readonly prefix: string;
}

export class CutSelect {
  readonly items: readonly TreeNode[];
  /** Whether each item is one column, so that items can be named anew. */
  readonly isPlain: boolean;

  private constructor(
    readonly select: TreeNode,
    /** The columns of its answer. */
    readonly columns: readonly DescribedColumn[],
    readonly scope: SourceScope,
    /** Names of the columns of its FROM. */
    readonly source: readonly string[],
    private readonly deps: CutDeps,
  ) {
    this.items = nodesAt(select, "select_list");
    this.isPlain = columns.length === this.items.length &&
      !contains(select["select_list"], (node) => isClass(node, "STAR") || isUnnest(node));
  }

  /** Throws `Unsplit` where its columns are named by their place in FROM. */
  static async of(select: TreeNode, deps: CutDeps): Promise<CutSelect> {
    const { from_table: _from, cte_map: _entries, ...clauses } = select;
    if (contains(clauses, (node) => isClass(node, "POSITIONAL_REFERENCE"))) {
      throw new Unsplit("it names a column by its place");
    }
    const columns = await deps.describe(select);
    const source = (await deps.describe(starOf(select))).map(({ name }) => name);
    return new CutSelect(select, columns, new SourceScope(select, source), source, deps);
  }

  get rowsMax(): number {
    return this.deps.rowsMax;
  }

  get averages(): boolean {
    return this.deps.averages;
  }

  get isDistinct(): boolean {
    return this.#distinct !== undefined;
  }

  get isDistinctOn(): boolean {
    return nodesAt(this.#distinct ?? {}, "distinct_on_targets").length > 0;
  }

  get #distinct(): TreeNode | undefined {
    return nodesAt(this.select, "modifiers").find((modifier) =>
      textAt(modifier, "type") === "DISTINCT_MODIFIER"
    );
  }

  /** The types of expressions over its FROM. */
  async typesOf(expressions: readonly TreeNode[]): Promise<readonly string[]> {
    if (expressions.length === 0) return [];
    const columns = await this.deps.describe({ ...bare(this.select), select_list: expressions });
    return columns.map(({ type }) => type.text);
  }

  /** A name for a column of the worker's. */
  nameOf(place: number | string): string {
    return `${this.deps.prefix}${place}`;
  }

  /** The column of the answer that an expression of ORDER BY means, by its index. */
  outputOf(expression: TreeNode): number | undefined {
    const place = integerConstant(expression);
    if (place !== undefined) return Number(place) - 1;
    const alias = this.scope.aliased(expression);
    if (this.isPlain) {
      if (alias !== undefined) return this.items.indexOf(alias);
      const key = this.scope.keyOf(this.scope.inlined(expression));
      const index = this.items.findIndex((item) =>
        this.scope.keyOf(this.scope.inlined(item)) === key
      );
      return index === -1 ? undefined : index;
    }
    const [name = "", ...more] = namesOf(expression);
    if (!isClass(expression, "COLUMN_REF") || more.length > 0) return undefined;
    const found = this.columns.flatMap((column, i) =>
      column.name.toLowerCase() === name.toLowerCase() ? [i] : []
    );
    if (found.length > 1) throw new Unsplit(`it has two columns ${name} and is ordered by one`);
    return found[0];
  }
}

function isUnnest(node: TreeNode): boolean {
  return textAt(node, "function_name").toLowerCase() === "unnest";
}

/** A SELECT of all that another one reads. */
function starOf(select: TreeNode): TreeNode {
  return { ...bare(select), select_list: [starNode()] };
}

function bare(select: TreeNode): TreeNode {
  return {
    ...select,
    modifiers: [],
    where_clause: null,
    group_expressions: [],
    group_sets: [],
    aggregate_handling: "STANDARD_HANDLING",
    having: null,
    qualify: null,
  };
}

/** A beginning of names that no name in a tree has. */
export function unusedPrefix(root: TreeNode, others: readonly string[]): string {
  const names = new Set(others.map((name) => name.toLowerCase()));
  walk(root, (node) => {
    for (const member of ["alias", "table_name", "key"]) {
      names.add(textAt(node, member).toLowerCase());
    }
    for (const list of ["column_names", "column_name_alias", "aliases"]) {
      for (const name of listAt(node, list)) names.add(String(name).toLowerCase());
    }
  });
  let prefix = "c";
  while (
    [...names].some((name) =>
      name.startsWith(prefix) && /^\d|^rows/.test(name.slice(prefix.length))
    )
  ) {
    prefix += "c";
  }
  return prefix;
}

/**
 * Whether a statement can be answered from rows with a weight instead of the table's rows, and its
 * text over them.
 *
 * A weighted row stands for all rows of the table that are alike in the columns which the statement
 * looks at. It has these columns, `timestamp` rounded down to the minute, and how many rows it
 * stands for. For each measured column it has the number of values, their sum, the smallest and the
 * largest. Everything that is computed of a row's columns stays as the caller wrote it; what counts
 * rows counts weights instead. GROUP BY, HAVING, ORDER BY and the rest are untouched, so types,
 * collation and the order of NULL stay DuckDB's own.
 *
 * The lists are closed: a kind of node, a function, a column or a clause that is not known to be
 * safe makes the statement step aside. Bounds of time are taken out of the WHERE, because rows
 * outside are not among the weighted ones.
 */

import { present } from "../../base/assert.ts";
import { DIMS_MAX } from "../limits.ts";
import type { AttributeRest } from "../plan/promoted_attributes.ts";
import type { Column } from "../../schema/schema.ts";
import {
  answerClauses,
  isNode,
  listAt,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  type TreeValue,
} from "../statement/syntax_tree.ts";
import { conjuncts, isTimeBound } from "../bounds/time_bounds.ts";
import { finerThanMinute, isMinuteItself } from "./minute_calls.ts";
import type { CountedColumn } from "./file_part.ts";
import { columnsOfPart, guardedParts } from "./guarded_parts.ts";
import { NamedColumns, type WeightedTable } from "./named_columns.ts";
import { Aside, type StepAside } from "./step_aside.ts";
import { hasOnlyCounts, topGroups } from "./top_groups.ts";
import { columnNode, conjunctionNode } from "../statement/tree_nodes.ts";
import { Aggregates, isAggregate, type Measure } from "./weighted_aggregates.ts";
import { checkClauses, groupsByTimes, hasGroups } from "./weighted_clauses.ts";
import { VALUE_FUNCTIONS, VALUE_OPERATORS } from "./weighted_functions.ts";

/** A statement over weighted rows, and what these must have. */
export interface WeightedStatement {
  /** Columns that weighted rows must have, without `timestamp`; by id. */
  readonly columns: readonly CountedColumn[];
  /** The rows that it is about, which it no longer tells in `root`; undefined: all. */
  readonly filter: WeightedFilter | undefined;
  /** Columns in which each counted row has a value: others are then not needed. */
  readonly filled: readonly Column[];
  /** Columns that it looks at only where one of `filled` has no value. */
  readonly unneeded: readonly Column[];
  /** Whether it looks at the minute. */
  readonly minutes: boolean;
  /** Conditions on the time, which weighted rows must meet; they are no longer in `root`. */
  readonly bounds: readonly TreeNode[];
  readonly measures: readonly Measure[];
  /** Columns whose value the table's own rows have in another way; by name. */
  readonly ownValues: ReadonlyMap<string, AttributeRest>;
  readonly root: TreeNode;
  /** Whether it has a GROUP BY, or lists values. */
  readonly groups: boolean;
  /**
   * How many of the most frequent values of its one column it wants, and no others
   * (`top_groups.ts`).
   */
  readonly top: number | undefined;
  /** Whether it has `top`, and asks only for the counts of these values. */
  readonly isPlainTop: boolean;
}

/** Rows whose text has words that summaries count. */
export interface WeightedFilter {
  readonly column: Column;
  /** One, or two side by side. */
  readonly words: readonly string[];
  readonly sql: string;
}

/** How many columns, with the minute, weighted rows must have. */
export function dimsOf(
  { columns, minutes }: Pick<WeightedStatement, "columns" | "minutes">,
): number {
  return columns.length + (minutes ? 1 : 0);
}

/** Rewrites a statement. `root` reads the one table `table`, whose columns are `schema`'s. */
export function weightedStatement(
  root: TreeNode,
  table: WeightedTable,
): WeightedStatement | StepAside {
  const plain = rewritten(root, table, { guards: false });
  if (!("aside" in plain) && dimsOf(plain) <= DIMS_MAX) return plain;
  // Files in which a column has no NULL are fewer, so this is for what is a scan otherwise.
  const guarded = rewritten(root, table, { guards: true });
  return "aside" in guarded || guarded.filled.length === 0 ? plain : guarded;
}

function rewritten(
  root: TreeNode,
  table: WeightedTable,
  { guards }: { readonly guards: boolean },
): WeightedStatement | StepAside {
  try {
    return new Rewriting(root, table).statement({ guards });
  } catch (error) {
    if (error instanceof Aside) return { aside: error.message };
    throw error;
  }
}

class Rewriting {
  readonly #root: TreeNode;
  readonly #table: WeightedTable;
  readonly #columns: NamedColumns;
  /** Lower-cased names that the select list gives. */
  readonly #aliases: ReadonlySet<string>;
  readonly #aggregates: Aggregates;
  /** Expressions that are evaluated for each row of a group, whatever else holds of it. */
  readonly #direct = new Set<TreeNode>();
  /** Parts that matter only where a column has no value, with that column. */
  readonly #guarded = new Map<TreeNode, Column>();
  readonly #filled = new Set<Column>();
  readonly #unneeded = new Map<string, Column>();
  #minutes = false;

  constructor(root: TreeNode, table: WeightedTable) {
    this.#root = root;
    this.#table = table;
    this.#columns = new NamedColumns(table);
    this.#aliases = new Set(
      nodesAt(root, "select_list").map((item) => textAt(item, "alias").toLowerCase())
        .filter((alias) => alias !== ""),
    );
    this.#aggregates = new Aggregates({
      columnOf: (node) => this.#columns.of(node),
      isUsed: (column) => this.#columns.isUsed(column),
      rewrite: (node) => this.#expression(node),
      direct: (node) => void this.#direct.add(node),
    });
  }

  statement({ guards }: { readonly guards: boolean }): WeightedStatement {
    const root = this.#root;
    const { table, values } = this.#table;
    const columns = this.#columns;
    checkClauses(root, this.#table);
    const groups = hasGroups(root);
    if (!groups && !someNode(answerClauses(root), isAggregate)) throw new Aside("it lists rows");
    const where = nodeAt(root, "where_clause");
    const all = where === undefined ? [] : conjuncts(where);
    const bounds = all.filter((conjunct) => isTimeBound(conjunct, table));
    const filter = this.#filter(all);
    const others = all.filter((conjunct) =>
      !bounds.includes(conjunct) && conjunct !== filter?.node
    );
    // What is looked at row by row comes first, so that an aggregate knows whether its column is
    // there anyway.
    const having = nodeAt(root, "having");
    if (groupsByTimes(root, { columns, values })) {
      throw new Aside("HAVING names times, so it groups by them");
    }
    const parts = [...answerClauses(root), ...others];
    if (guards) this.#findGuarded(parts);
    for (const part of parts) this.#note(part);
    const rewritten: TreeNode = {
      ...root,
      where_clause: conjunctionNode(others.map((conjunct) => this.#expression(conjunct))),
      select_list: this.#list(root, "select_list"),
      group_expressions: this.#list(root, "group_expressions"),
      having: having === undefined ? null : this.#expression(having),
      modifiers: nodesAt(root, "modifiers").map((modifier) => this.#modifier(modifier)),
    };
    const { used, rests } = columns;
    const [column] = used;
    const top = column === undefined
      ? undefined
      : topGroups(root, { column, isFiltered: others.length > 0 || filter !== undefined });
    return {
      top,
      isPlainTop: top !== undefined && hasOnlyCounts(root, present(column)),
      columns: used.toSorted((a, b) => a.id - b.id),
      filter: filter?.filter,
      filled: [...this.#filled],
      unneeded: [...this.#unneeded.values()]
        .filter(({ name }) => !used.some((column) => column.name === name)),
      minutes: this.#minutes,
      bounds,
      measures: this.#aggregates.measures,
      ownValues: rests,
      root: rewritten,
      groups,
    };
  }

  /** A condition on words, where the statement looks for no words besides. */
  #filter(
    conjuncts: readonly TreeNode[],
  ): { readonly node: TreeNode; readonly filter: WeightedFilter } | undefined {
    const calls = [...this.#table.values].filter(([, { column }]) => wordsOf(column) !== undefined);
    const [call] = calls;
    if (call === undefined || calls.length > 1) return undefined;
    const [node, { column, rest }] = call;
    const words = wordsOf(column);
    if (!conjuncts.includes(node) || words === undefined || rest === undefined) return undefined;
    return { node, filter: { column: rest.column, words, sql: rest.sql } };
  }

  #findGuarded(parts: readonly TreeNode[]): void {
    const columnOf = (node: TreeNode) => {
      const column = this.#columns.of(node);
      return column?.type === "timestamptz" ? undefined : column;
    };
    for (const part of parts) {
      for (const [node, column] of guardedParts(part, columnOf)) this.#guarded.set(node, column);
    }
  }

  /** Notes the columns that expressions outside of aggregates look at. */
  #note(value: TreeValue): void {
    if (Array.isArray(value)) { for (const item of value) this.#note(item); }
    if (!isNode(value) || this.#guarded.has(value)) return;
    if (textAt(value, "class") === "FUNCTION" && isAggregate(value)) {
      return this.#note(value["filter"]);
    }
    if (textAt(value, "class") === "COLUMN_REF" || this.#table.values.has(value)) {
      const column = this.#columns.of(value);
      if (column !== undefined && column.type !== "timestamptz") this.#columns.add(column);
      return;
    }
    for (const member in value) this.#note(value[member]);
  }

  #list(node: TreeNode, member: string): TreeNode[] {
    return nodesAt(node, member).map((item) => {
      this.#direct.add(item);
      return this.#expression(item);
    });
  }

  #modifier(modifier: TreeNode): TreeNode {
    switch (textAt(modifier, "type")) {
      case "ORDER_MODIFIER":
        return {
          ...modifier,
          orders: nodesAt(modifier, "orders").map((order) => {
            const expression = nodeAt(order, "expression") ?? {};
            // ORDER BY ALL is a star in the tree.
            const isAll = textAt(expression, "class") === "STAR";
            return { ...order, expression: isAll ? expression : this.#expression(expression) };
          }),
        };
      case "LIMIT_MODIFIER":
        for (const member of ["limit", "offset"]) {
          const value = nodeAt(modifier, member);
          if (value !== undefined && textAt(value, "class") !== "CONSTANT") {
            throw new Aside("its LIMIT is computed");
          }
        }
        return modifier;
      case "DISTINCT_MODIFIER":
        return modifier;
      default:
        throw new Aside(`it has a ${textAt(modifier, "type")}`);
    }
  }

  #expression(node: TreeNode): TreeNode {
    const guard = this.#guarded.get(node);
    if (guard !== undefined) return this.#unneededPart(node, guard);
    if (this.#table.values.has(node)) return this.#value(node);
    switch (textAt(node, "class")) {
      case "CONSTANT":
        return node;
      case "COLUMN_REF":
        return this.#columnRef(node);
      case "FUNCTION":
        return isAggregate(node) ? this.#aggregates.rewrite(node) : this.#call(node);
      case "CAST":
        if (this.#isTime(nodeAt(node, "child"))) return this.#dateCast(node);
        return this.#members(node);
      case "BETWEEN":
      case "CASE":
      case "COMPARISON":
      case "CONJUNCTION":
        return this.#members(node);
      case "OPERATOR":
        if (!VALUE_OPERATORS.has(textAt(node, "type"))) {
          throw new Aside(`it uses ${textAt(node, "type")}`);
        }
        return this.#members(node);
      default:
        throw new Aside(`it has an expression of kind ${textAt(node, "class")}`);
    }
  }

  /** A part that matters only where `guard` has no value. It stays as it is. */
  #unneededPart(part: TreeNode, guard: Column): TreeNode {
    const references = columnsOfPart(part);
    if (references === undefined) throw new Aside("what follows a column without a value may fail");
    for (const reference of references) {
      const column = this.#columns.of(reference);
      if (column === undefined || column.type === "timestamptz" || column.name === "timestamp_ns") {
        throw new Aside(`it looks at ${listAt(reference, "column_names").join(".")} itself`);
      }
      this.#unneeded.set(column.name, column);
    }
    this.#filled.add(guard);
    return part;
  }

  /** The column that an expression is the value of. */
  #value(node: TreeNode): TreeNode {
    const column = present(this.#columns.of(node));
    const rest = this.#columns.rests.get(column.name);
    if (rest?.fails === true && !this.#direct.has(node)) {
      throw new Aside("a cast that may fail stands behind a condition");
    }
    this.#columns.use(column);
    return { ...columnNode(this.#columns.table, column.name), alias: node["alias"] };
  }

  /** A copy of the node with the expressions below it rewritten. */
  #members(node: TreeNode): TreeNode {
    const rewritten: TreeNode = {};
    for (const member in node) rewritten[member] = this.#member(node[member]);
    return rewritten;
  }

  #member(value: TreeValue): TreeValue {
    if (Array.isArray(value)) return value.map((item) => this.#member(item));
    if (!isNode(value)) return value;
    if (typeof value["class"] === "string") return this.#expression(value);
    return "when_expr" in value ? this.#members(value) : value;
  }

  #columnRef(node: TreeNode): TreeNode {
    const column = this.#columns.of(node);
    if (column === undefined) {
      const [name, ...more] = listAt(node, "column_names");
      if (more.length === 0 && this.#aliases.has(String(name).toLowerCase())) return node;
      throw new Aside(`${listAt(node, "column_names").join(".")} is no column of the table`);
    }
    this.#columns.use(column);
    return node;
  }

  #isTime(node: TreeNode | undefined): boolean {
    return node !== undefined && textAt(node, "class") === "COLUMN_REF" &&
      this.#columns.of(node)?.name === "timestamp";
  }

  #call(node: TreeNode): TreeNode {
    const name = textAt(node, "function_name").toLowerCase();
    const children = nodesAt(node, "children");
    if (children.some((child) => this.#isTime(child))) {
      const why = finerThanMinute(name, children);
      if (why !== undefined) throw new Aside(why);
      this.#minutes = true;
      // Weighted rows have the minute and nothing finer.
      return isMinuteItself(name, children)
        ? { ...columnNode(this.#columns.table, "timestamp"), alias: node["alias"] }
        : node;
    }
    if (!VALUE_FUNCTIONS.has(name)) throw new Aside(`it calls ${name}`);
    return { ...node, children: this.#list(node, "children") };
  }

  #dateCast(node: TreeNode): TreeNode {
    if (textAt(nodeAt(node, "cast_type") ?? {}, "id") !== "DATE") {
      throw new Aside("it casts timestamp to something finer than a day");
    }
    this.#minutes = true;
    return node;
  }
}

function wordsOf({ words }: CountedColumn): readonly string[] | undefined {
  return words;
}

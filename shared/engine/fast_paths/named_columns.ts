/** The columns that a statement over weighted rows names, and what these must have. */

import type { Column, TableSchema } from "../../schema/schema.ts";
import type { AttributeRest, AttributeValues } from "../plan/promoted_attributes.ts";
import { listAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { CountedColumn } from "./file_part.ts";
import { Aside } from "./step_aside.ts";

/** The one table that a statement reads. */
export interface WeightedTable {
  readonly table: TreeNode;
  readonly schema: TableSchema;
  /** Columns of `schema` that are made of promoted ones; by name. */
  readonly made: ReadonlyMap<string, unknown>;
  /** Expressions that are the value of one column of `schema`. */
  readonly values: AttributeValues;
}

/** The columns that one statement was found to name. */
export class NamedColumns {
  /** The name that the statement gives the table. */
  readonly table: string;
  readonly #values: AttributeValues;
  /** Columns by lower-cased name. */
  readonly #columns: ReadonlyMap<string, Column>;
  /** Names of text columns whose values are counted. */
  readonly #tags: ReadonlySet<string>;
  readonly #used = new Map<number, CountedColumn>();
  readonly #rests = new Map<string, AttributeRest>();

  constructor({ table, schema, made, values }: WeightedTable) {
    this.table = textAt(table, "alias") || textAt(table, "table_name");
    this.#values = values;
    this.#columns = new Map(schema.columns.map((column) => [column.name.toLowerCase(), column]));
    this.#tags = new Set([...schema.tags, ...schema.promoted ?? [], ...made.keys()]);
  }

  /** Columns that weighted rows must have, without `timestamp`, the first named one first. */
  get used(): readonly CountedColumn[] {
    return [...this.#used.values()];
  }

  /** What rows have in place of a column without a value, by the column's name. */
  get rests(): ReadonlyMap<string, AttributeRest> {
    return this.#rests;
  }

  isUsed({ id }: Column): boolean {
    return this.#used.has(id);
  }

  /**
   * The table's column that a node is the value of, or the name. A select-list alias of that name
   * is rewritten where it stands. Throws `Aside`.
   */
  of(node: TreeNode): CountedColumn | undefined {
    const value = this.#values.get(node);
    if (value !== undefined) {
      const { column, rest } = value;
      if (rest === undefined) return column;
      const known = this.#rests.get(column.name);
      if (known !== undefined && known.sql !== rest.sql) {
        throw new Aside(`it reads ${column.name} in several ways`);
      }
      this.#rests.set(column.name, rest);
      return column;
    }
    const names = listAt(node, "column_names").map((name) => String(name).toLowerCase());
    const [first, second] = names;
    const name = names.length === 1
      ? first
      : names.length === 2 && first === this.table.toLowerCase()
      ? second
      : undefined;
    return this.#columns.get(name ?? "");
  }

  /** Notes a column whose values the statement computes with. Throws `Aside`. */
  use(column: CountedColumn): void {
    if (column.type === "timestamptz" || column.name === "timestamp_ns") {
      throw new Aside(`it looks at ${column.name} itself`);
    }
    if (column.type === "string" && !this.#tags.has(column.name)) {
      throw new Aside(`it looks at ${column.name}, which is no tag`);
    }
    this.add(column);
  }

  /** Notes a column that weighted rows must have. Throws `Aside`. */
  add(column: CountedColumn): void {
    const known = this.#used.get(column.id);
    if (known !== undefined && known.name !== column.name) {
      throw new Aside(
        known.words === undefined && column.words === undefined
          ? `it looks at ${known.name} and, which is the same, at ${column.name}`
          : "it looks for words in several ways, or at their text besides",
      );
    }
    this.#used.set(column.id, column);
  }
}

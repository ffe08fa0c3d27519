/**
 * Columns that take the place of what a statement asks. Each part of a scan makes such a column in
 * a cheap way, or in the way that was asked (`plan/made_columns.ts`).
 */

import type { DataFile } from "../../iceberg/types.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import type { Reach } from "../plan/attribute_scopes.ts";
import type { MadeChoice, ToldSql } from "../plan/made_columns.ts";
import type { TablePlan } from "../plan/plan.ts";
import { namedColumns, projectedOf } from "../plan/projection.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";

/** What a statement asks of each row, and a cheap way to tell it of some files' rows. */
export interface SparedUse {
  /** The expression in the statement. */
  readonly node: TreeNode;
  /** One column of the table takes the place of all expressions with this. */
  readonly key: string;
  /** How it names the table's columns. */
  readonly reach: Extract<Reach, { readonly kind: "table" }>;
  readonly table: TablePlan;
  readonly type: ColumnType;
  /** The files of which it is told in the cheap way. */
  readonly files: ReadonlySet<DataFile>;
  /** A column besides those of the table that `cheap` reads. */
  readonly source: Column | undefined;
  readonly cheap: ToldSql;
  readonly dear: ToldSql;
}

/** Ids of columns that are made of no column of the table. */
const FIRST_ID = -1_000;
/** In place of a source: which files tell is all that is asked of it. */
const NO_SOURCE: Column = { id: 0, name: "", type: "string", required: false };

/** The tables of a statement, with a column for each use. */
export class SparedColumns {
  readonly #tables: readonly TablePlan[];
  readonly #added = new Map<TablePlan, AddedColumn[]>();
  /** What the statement says, as it was asked: an alias in it may be called as a column is. */
  readonly #asked: string;

  constructor(tables: readonly TablePlan[], root: TreeNode) {
    this.#tables = tables;
    this.#asked = JSON.stringify(root).toLowerCase();
  }

  /** Returns the name of the column that takes the place of the expression. */
  add({ table, key, type, files, source, cheap, dear }: SparedUse): string {
    const added = this.#added.get(table) ?? [];
    this.#added.set(table, added);
    const known = added.find((one) => one.key === key);
    if (known !== undefined) return known.column.name;
    const name = this.#freeName(table, added.length + 1);
    added.push({
      column: { id: FIRST_ID - added.length, name, type, required: false },
      // An object of its own for each: files tell of some and not of others.
      made: { form: "choice", sources: [{ ...source ?? NO_SOURCE }], cheap, dear },
      ...{ key, source, files },
    });
    return name;
  }

  /** Returns the tables for the statement as it is now. */
  tables(root: TreeNode): readonly TablePlan[] {
    const named = namedColumns(root);
    return this.#tables.map((table) => {
      const added = this.#added.get(table);
      if (added === undefined) return table;
      const own = withColumns(table, added);
      return { ...own, projected: projectedOf(own, named) };
    });
  }

  /** A name that no column of the table and nothing in the statement has. */
  #freeName({ schema }: TablePlan, number: number): string {
    const taken = new Set(schema.columns.map(({ name }) => name.toLowerCase()));
    let name = `spared:${number}`;
    while (taken.has(name) || this.#asked.includes(`"${name}"`)) name = `spared:${name}`;
    return name;
  }
}

interface AddedColumn extends Pick<SparedUse, "key" | "source" | "files"> {
  readonly column: Column;
  readonly made: MadeChoice;
}

function withColumns(table: TablePlan, added: readonly AddedColumn[]): TablePlan {
  const { schema, stored, made, isComplete } = table;
  const filesOf = new Map<Column, ReadonlySet<DataFile>>(
    added.map(({ made, files }) => [made.sources[0], files]),
  );
  const sources = new Map(
    added.flatMap(({ source }) => source === undefined ? [] : [[source.id, source] as const]),
  );
  return {
    ...table,
    schema: { ...schema, columns: [...schema.columns, ...added.map(({ column }) => column)] },
    stored: { ...stored, columns: [...stored.columns, ...sources.values()] },
    made: new Map([...made, ...added.map(({ column, made }) => [column.name, made] as const)]),
    isComplete: (file, column) => filesOf.get(column)?.has(file) ?? isComplete(file, column),
  };
}

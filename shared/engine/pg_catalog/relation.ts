/** How a relation of the catalog is declared, and the SELECT that stands for it in a statement. */

import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import type { CatalogView } from "./own_tables.ts";

/** A row: values by column. A column that it lacks is NULL. */
export type CatalogRow = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A relation that clients find beside their tables. */
export interface CatalogRelation {
  readonly schema: "pg_catalog" | "information_schema";
  readonly name: string;
  /**
   * One column a line: its name, and its type in DuckDB's words. `= expression` says that it has
   * that value in every row.
   */
  readonly columns: string;
  /** Absent: it never has a row. */
  readonly rows?: (view: CatalogView) => readonly CatalogRow[];
}

interface ReadColumn {
  readonly name: string;
  readonly type: string;
  readonly always: string | undefined;
}

/** Returns a SELECT with the relation's columns and no row. */
export function emptySelect({ columns }: CatalogRelation): string {
  const list = columnsOf(columns).map(({ name, type }) => `NULL::${type} AS ${quoteName(name)}`);
  return `SELECT ${list.join(", ")} WHERE false`;
}

/**
 * Returns the SELECT of the relation's rows. They are one JSON text: DuckDB binds that at once,
 * where VALUES would be bound value by value.
 */
export function rowsSelect(relation: CatalogRelation, view: CatalogView): string {
  const rows = relation.rows?.(view) ?? [];
  if (rows.length === 0) return emptySelect(relation);
  const columns = columnsOf(relation.columns);
  const told = columns.filter(({ always }) => always === undefined);
  const structure = Object.fromEntries(told.map(({ name, type }) => [name, type]));
  const list = columns.map(({ name, type, always }) =>
    `${always === undefined ? `of_row.${quoteName(name)}` : `${always}::${type}`} AS ${
      quoteName(name)
    }`
  );
  return `SELECT ${list.join(", ")} FROM (SELECT unnest(from_json(${
    quoteText(JSON.stringify(rows))
  }, ${quoteText(JSON.stringify([structure]))})) AS of_row)`;
}

function columnsOf(declared: string): readonly ReadColumn[] {
  return declared.trim().split("\n").map((line) => {
    const [head = "", always] = line.split("=").map((part) => part.trim());
    const at = head.indexOf(" ");
    return { name: head.slice(0, at), type: head.slice(at + 1), always };
  });
}

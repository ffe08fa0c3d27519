/**
 * The caller's statement inside one of ours. Its tables are common table expressions before it.
 * They end with the statement, so a connection keeps nothing that a later statement, perhaps
 * another tenant's, could name. The caller's text stays as it was sent, on lines of its own, so
 * that messages quote it and a comment at its end stays one.
 */

import type { Relation } from "./driver.ts";

/** A statement around the caller's. */
export interface StatementText {
  readonly sql: string;
  /** Lines before the caller's first one. */
  readonly linesBefore: number;
}

/**
 * Puts `relations` before the statement. `wrap` puts the query around `from`, which stands for the
 * caller's statement as a FROM item without a name.
 */
export function statementText(
  statement: string,
  { relations, wrap }: {
    readonly relations: readonly Relation[];
    readonly wrap: (from: string) => string;
  },
): StatementText {
  const sql = withClause(relations) + wrap(`(\n${statement}\n)`);
  const before = sql.slice(0, sql.indexOf(`(\n${statement}\n)`) + 2);
  return { sql, linesBefore: before.split("\n").length - 1 };
}

/**
 * The relations are NOT MATERIALIZED: filters and wanted columns reach the files, as they would
 * through a view.
 */
function withClause(relations: readonly Relation[]): string {
  if (relations.length === 0) return "";
  const tables = relations.map(({ name, select }) =>
    `${quoteName(name)} AS NOT MATERIALIZED (${select})`
  );
  return `WITH ${tables.join(", ")} `;
}

/**
 * Gives what stands in a statement for a text: itself as a literal, or a place that it is bound to.
 */
export type BindText = (text: string) => string;

/**
 * A text in SQL: a literal, or an expression where it has U+0000, which no statement can hold.
 */
export function quoteText(text: string): string {
  const parts = text.replaceAll("'", "''").split("\0").map((part) => `'${part}'`);
  return parts.length === 1 ? parts.join("") : `(${parts.join(" || chr(0) || ")})`;
}

/** A SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

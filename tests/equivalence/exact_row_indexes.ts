/**
 * Indexes that are exact: they read the data file and leave out every row that does not meet the
 * query. So a planner that asks too much of a table loses rows with them at once.
 */

import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { isTellable } from "../../shared/derived/rows/literal_words.ts";
import type { RowQuery, RowSet, TermsQuery } from "../../shared/derived/rows/row_query.ts";
import type { IndexCall, RowIndexes } from "../../shared/engine/pruning/row_index.ts";
import { tokenize } from "../../shared/derived/text/tokenize.ts";
import { namesTo } from "../../shared/schema/attribute_path.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";

type Row = Readonly<Record<string, unknown>>;

export class ExactRowIndexes implements RowIndexes {
  /** Answers that left something out. */
  pruned = 0;
  readonly #rows = new Map<string, Promise<readonly Row[]>>();

  async rows(file: DataFile, query: RowQuery, { store }: IndexCall): Promise<RowSet> {
    const rows = this.#rows.get(file.key) ?? readRows(await store.get(file.key));
    this.#rows.set(file.key, Promise.resolve(rows));
    const met = (await rows).flatMap((row, at) => meets(query, row) ? [at] : []);
    if (met.length < file.rows) this.pruned += 1;
    return met.length === 0 ? { kind: "none" } : { kind: "rows", rows: Uint32Array.from(met) };
  }
}

async function readRows(bytes: Uint8Array<ArrayBuffer>): Promise<readonly Row[]> {
  return await parquetReadObjects({ file: bytes.buffer, compressors });
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Row)[name] : undefined;
}

function meets(query: RowQuery, row: Row): boolean {
  switch (query.kind) {
    case "all":
      return true;
    case "and":
      return query.of.every((one) => meets(one, row));
    case "or":
      return query.of.some((one) => meets(one, row));
  }
  const value = row[query.column];
  if (typeof value !== "string") return false;
  const isOfWords = query.kind === "terms" || query.kind === "substring";
  // Letters that are newer than DuckDB: it may see other words.
  if (isOfWords && !(isTellable(query.text) && isTellable(value))) return true;
  switch (query.kind) {
    case "terms":
      return holdsTerms(query, value);
    case "substring":
      return query.ignoreCase
        ? folded(value).includes(folded(query.text))
        : value.includes(query.text);
    case "equals":
      return query.values.includes(value);
    case "attribute": {
      const names = namesTo(query.name);
      // JSON.parse gives the last member of a name, and DuckDB the first.
      if (names.some((name) => value.split(`${JSON.stringify(name)}:`).length > 2)) return true;
      const attribute = names.reduce(memberOf, JSON.parse(value) as unknown);
      if (attribute === undefined || attribute === null) return false;
      // DuckDB's texts of numbers are its own.
      return typeof attribute === "string" ? query.values.includes(attribute) : true;
    }
  }
}

function holdsTerms({ mode, text }: TermsQuery, value: string): boolean {
  const [terms, tokens] = [tokenize(text), tokenize(value)];
  if (terms.length === 0) return false;
  if (mode === "all") return terms.every((term) => tokens.includes(term));
  if (mode === "any") return terms.some((term) => tokens.includes(term));
  const spaced = ` ${tokens.join(" ")} `;
  return spaced.includes(` ${terms.join(" ")}${mode === "phrase" ? " " : ""}`);
}

/** Makes letters small as DuckDB does: one of each. */
function folded(text: string): string {
  return [...text].map((letter) => letter === "İ" ? "i" : letter.toLowerCase()).join("");
}

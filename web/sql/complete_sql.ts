/** What may come next in a statement: tables, columns, attributes and functions. */

import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { isNested } from "../../shared/schema/attribute_path.ts";
import { attributeSql } from "../../shared/search/attribute_sql.ts";
import { type SqlToken, sqlTokens } from "./sql_tokens.ts";
import type { NamedType } from "./server_tables.ts";

/** A function of the dialect, from `functions.json`. */
export interface SqlFunction {
  readonly name: string;
  /** Arguments of each way to call it. */
  readonly calls: readonly string[];
  readonly text: string;
  readonly example?: string;
}

/** What statements may name. */
export interface SqlNames {
  readonly tables: readonly {
    /** The name as statements write it: `events`, `local.errors`. */
    readonly name: string;
    readonly detail: string;
    readonly columns: readonly NamedType[];
    readonly attributes: readonly NamedType[];
  }[];
  readonly functions: readonly SqlFunction[];
}

export interface SqlOption {
  readonly label: string;
  readonly kind: "table" | "column" | "attribute" | "function";
  /** What it writes. */
  readonly apply: string;
  readonly detail: string;
  readonly function?: SqlFunction;
}

export interface SqlOptions {
  /** Where the text begins that an option replaces. */
  readonly from: number;
  readonly options: readonly SqlOption[];
}

const AFTER_TABLES = /^(?:from|join|describe|summarize)$/i;
const PLAIN_NAME = /^[a-z_][a-z0-9_]*$/;

/** Returns what fits at `at`; undefined where nothing is known, as in a text. */
export function completeSql(sql: string, at: number, names: SqlNames): SqlOptions | undefined {
  const before = sql.slice(0, at);
  const tokens = sqlTokens(before);
  const last = tokens.at(-1);
  if (last?.kind === "text" && isOpen(before, last.from)) {
    return attributeName(sql, last.from, names);
  }
  if (last?.kind === "name" && isOpen(before, last.from)) return undefined;
  if (/--[^\n]*$/.test(before.slice(last?.to ?? 0))) return undefined;
  const [word = ""] = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before) ?? [];
  const from = at - word.length;
  const [, owner] = /([\p{L}_][\p{L}\p{N}_]*)\.$/u.exec(before.slice(0, from)) ?? [];
  const previous = tokens.filter(({ to }) => to <= from);
  if (isNewName(before, previous.at(-1))) return undefined;
  if (owner !== undefined) return membersOf(sql, owner, from, names);
  if (isTableNext(before, previous)) return { from, options: names.tables.map(tableOption) };
  const tables = namedTables(sql, names);
  return {
    from,
    options: [
      ...tables.flatMap(({ columns }) => columns.map(columnOption)),
      ...tables.flatMap(({ attributes }) => attributes.map(attributeOption)),
      ...names.functions.map(functionOption),
    ],
  };
}

/** What follows AS is nobody's name yet. */
function isNewName(before: string, last: SqlToken | undefined): boolean {
  return last !== undefined && /^as$/i.test(before.slice(last.from, last.to));
}

/** A text is open unless it ends with a quote of its own. */
function isOpen(before: string, from: number): boolean {
  const text = before.slice(from);
  return text.length === 1 || !text.endsWith(text.charAt(0));
}

/** Inside the text of `attr_get(attributes, '…`. */
function attributeName(sql: string, from: number, names: SqlNames): SqlOptions | undefined {
  if (!/\battr_get\s*\(\s*[\w.]+\s*,\s*$/i.test(sql.slice(0, from))) return undefined;
  const options = namedTables(sql, names).flatMap(({ attributes }) => attributes)
    .filter(({ name }) => !isNested(name))
    .map(({ name, type }): SqlOption => ({
      label: name,
      kind: "attribute",
      apply: name.replaceAll("'", "''"),
      detail: type,
    }));
  return { from: from + 1, options };
}

/** After `events.`, an alias and a dot, or `local.`. */
function membersOf(
  sql: string,
  owner: string,
  from: number,
  names: SqlNames,
): SqlOptions | undefined {
  const schema = `${owner.toLowerCase()}.`;
  const within = names.tables.filter(({ name }) => name.startsWith(schema));
  if (within.length > 0) {
    const options = within.map((table) => {
      const option = tableOption(table);
      const rest = (text: string) => text.slice(schema.length);
      return { ...option, label: rest(option.label), apply: rest(option.apply) };
    });
    return { from, options };
  }
  const named = new RegExp(`(?:from|join|,)\\s+([\\w.]+)\\s+(?:as\\s+)?${owner}\\b`, "iu");
  const alias = named.exec(sql)?.[1] ?? owner;
  const table = names.tables.find(({ name }) =>
    name === alias.toLowerCase() || name === owner.toLowerCase()
  );
  return table && { from, options: table.columns.map(columnOption) };
}

function isTableNext(before: string, previous: readonly SqlToken[]): boolean {
  const last = previous.at(-1);
  if (last === undefined) return false;
  const text = before.slice(last.from, last.to);
  if (AFTER_TABLES.test(text)) return true;
  if (text !== ",") return false;
  // A list of tables: nothing but names since FROM.
  const words = previous.toReversed().map(({ from, to }) => before.slice(from, to));
  const clause = words.find((word) => /^(?:from|select|where|by|having|on)$/i.test(word));
  return clause !== undefined && /^from$/i.test(clause);
}

/** The tables that the statement names, else the first. */
function namedTables(sql: string, { tables }: SqlNames): SqlNames["tables"] {
  const text = sql.toLowerCase();
  const named = tables.filter(({ name }) =>
    new RegExp(`(?:from|join|,)\\s+"?${name.replace(".", "\\.")}\\b`).test(text)
  );
  return named.length > 0 ? named : tables.slice(0, 1);
}

function tableOption({ name, detail }: SqlNames["tables"][number]): SqlOption {
  return { label: name, kind: "table", apply: name.split(".").map(written).join("."), detail };
}

function columnOption({ name, type }: NamedType): SqlOption {
  return { label: name, kind: "column", apply: written(name), detail: type.toLowerCase() };
}

function attributeOption({ name }: NamedType): SqlOption {
  return { label: name, kind: "attribute", apply: attributeSql(name), detail: "attribute" };
}

function functionOption(one: SqlFunction): SqlOption {
  const detail = `(${one.calls[0] ?? ""})`;
  return { label: one.name, kind: "function", apply: `${one.name}(`, detail, function: one };
}

function written(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoteName(name);
}

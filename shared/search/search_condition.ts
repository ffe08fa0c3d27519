/**
 * Writes the SQL condition of a search. README.md has what each term means. Whatever came from the
 * text becomes a literal or a name in quotes.
 *
 * A term is TRUE for the rows that it finds, and FALSE or NULL for others. AND and OR keep that,
 * and a negation asks for what is not TRUE.
 */

import { formatMicros, NS_PER_US, parseOptionalTimeNs } from "../base/time.ts";
import { quoteName, quoteText } from "../engine/duckdb/statement_text.ts";
import { attributeSql } from "./attribute_sql.ts";
import { instantSql } from "./instant_sql.ts";
import { SearchError } from "./search_error.ts";
import {
  LEVEL_NUMBER,
  type SearchTable,
  type SearchTarget,
  searchTarget,
  searchTexts,
} from "./search_fields.ts";
import type { SearchBound, SearchMatch, SearchNode, SearchTerm } from "./search_syntax.ts";
import {
  SEVERITIES,
  severitiesBeside,
  type Severity,
  severityOf,
  spellingsOf,
} from "./severities.ts";

/**
 * Returns the condition for a WHERE. Errors: `SearchError` for a term that its field cannot have,
 * such as a text for a number.
 */
export function searchCondition(search: SearchNode, table: SearchTable): string {
  switch (search.kind) {
    case "all":
      return "TRUE";
    case "not":
      return `(${searchCondition(search.part, table)}) IS NOT TRUE`;
    case "and":
      return search.parts.map((part) => `(${searchCondition(part, table)})`).join(" AND ");
    case "or":
      return search.parts.map((part) => `(${searchCondition(part, table)})`).join(" OR ");
    case "term":
      return termCondition(search, table);
  }
}

/** Returns the SQL of a row's level as the row names it; NULL where it has none. */
export function levelValue(table: SearchTable): string {
  const target = searchTarget("level", table);
  const sources = target.kind === "level" ? target.sources.map(valueOf) : [valueOf(target)];
  return sources.length === 1 ? sources.join("") : `coalesce(${sources.join(", ")})`;
}

function termCondition(term: SearchTerm, table: SearchTable): string {
  if (term.field !== undefined) {
    return targetCondition(searchTarget(term.field.name, table), term);
  }
  // A `*` alone finds every row, as a search without a term does.
  if (term.match.kind === "present") return "TRUE";
  const texts = searchTexts(table);
  if (texts.length === 0) {
    throw new SearchError(
      "Cannot look for words in this table, which has no text: name a field, such as service:x",
      term.span,
    );
  }
  return either(texts.map((target) => targetCondition(target, term)));
}

function either(conditions: readonly string[]): string {
  return conditions.length === 1
    ? conditions.join("")
    : conditions.map((one) => `(${one})`).join(" OR ");
}

function targetCondition(target: SearchTarget, term: SearchTerm): string {
  switch (target.kind) {
    case "text":
      return textCondition(quoteName(target.column.name), term);
    case "level":
      return levelCondition(target.sources, term);
    case "attribute":
      return valueCondition(valueOf(target), term.match);
    case "column":
      return columnCondition(target, term);
  }
}

/** A word has a letter or digit; anything else is looked for as it is written. */
const HAS_WORD = /[\p{L}\p{N}\p{M}_]/u;

function textCondition(text: string, { field, match }: SearchTerm): string {
  switch (match.kind) {
    case "text":
      // No words are in each text; who names the field means the empty one.
      if (match.text === "" && field !== undefined) return `${text} = ''`;
      return HAS_WORD.test(match.text)
        ? `match_phrase(${text}, ${quoteText(match.text)})`
        : `contains(${text}, ${quoteText(match.text)})`;
    case "prefix":
      return HAS_WORD.test(match.text)
        ? `match_prefix(${text}, ${quoteText(match.text)})`
        : `contains(${text}, ${quoteText(match.text)})`;
    default:
      return valueCondition(text, match);
  }
}

/** The condition for a field whose values are texts. */
function valueCondition(value: string, match: SearchMatch): string {
  switch (match.kind) {
    case "text":
      return `${value} = ${quoteText(match.text)}`;
    case "prefix":
      return `starts_with(${value}, ${quoteText(match.text)})`;
    case "regex":
      return regexCondition(value, match);
    case "range":
      return match.bounds.map((bound) => boundCondition(value, bound)).join(" AND ");
    case "present":
      return `${value} IS NOT NULL`;
  }
}

function regexCondition(
  value: string,
  { pattern, ignoresCase }: { readonly pattern: string; readonly ignoresCase: boolean },
): string {
  return `regexp_matches(${value}, ${quoteText(pattern)}${ignoresCase ? ", 'i'" : ""})`;
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

function boundCondition(value: string, bound: SearchBound): string {
  return isNumber(bound.value)
    ? `TRY_CAST(${value} AS DOUBLE) ${bound.operator} ${numberLiteral(bound.value)}`
    : `${value} ${bound.operator} ${quoteText(bound.value)}`;
}

function isNumber(text: string): boolean {
  return NUMBER.test(text) && Number.isFinite(Number(text));
}

function numberLiteral(text: string): string {
  return `CAST(${quoteText(text)} AS DOUBLE)`;
}

/** The condition for a column that is not a text with words. */
function columnCondition(
  { column }: Extract<SearchTarget, { kind: "column" }>,
  { match, span }: SearchTerm,
): string {
  const name = quoteName(column.name);
  const { type } = column;
  if (type === "string" || match.kind === "present") return valueCondition(name, match);
  if (match.kind === "regex" || match.kind === "prefix") {
    return valueCondition(`CAST(${name} AS VARCHAR)`, match);
  }
  const literalOf = (text: string) => {
    const literal = LITERALS[type](text);
    if (literal !== undefined) return literal;
    throw new SearchError(
      `Cannot compare ${column.name} with ${JSON.stringify(text)}: write ${WANTED[type]}`,
      span,
    );
  };
  if (match.kind === "text") return `${name} = ${literalOf(match.text)}`;
  return match.bounds.map(({ operator, value }) => `${name} ${operator} ${literalOf(value)}`)
    .join(" AND ");
}

const wholeOrDouble = (text: string) =>
  /^[+-]?\d{1,18}$/.test(text) ? String(BigInt(text)) : asDouble(text);
const asDouble = (text: string) => isNumber(text) ? numberLiteral(text) : undefined;

/** Literals of a column's type; undefined for what is none. */
const LITERALS = {
  long: wholeOrDouble,
  int: wholeOrDouble,
  double: asDouble,
  bool: (text: string) => /^(?:true|false)$/i.test(text) ? text.toUpperCase() : undefined,
  timestamptz: (text: string) => {
    const ns = parseOptionalTimeNs(text);
    if (ns === undefined) return undefined;
    return instantSql(formatMicros(ns / NS_PER_US));
  },
} as const;

const WANTED = {
  long: "a number",
  int: "a number",
  double: "a number",
  bool: "true or false",
  timestamptz: "a date as 2026-11-20 or an instant as 2026-11-20T21:04:05Z",
} as const;

/** The first source that a row has counts, and its number where it has none. */
function levelCondition(sources: readonly SearchTarget[], { match, span }: SearchTerm): string {
  const wanted = wantedLevels(match, span);
  const conditions: string[] = [];
  const missing: string[] = [];
  for (const value of sources.map(valueOf)) {
    conditions.push([...missing, levelNameCondition(value, { match, wanted })].join(" AND "));
    missing.push(`${value} IS NULL`);
  }
  const hasNumber = sources.every(({ kind }) => kind === "attribute");
  const byNumber = hasNumber ? levelNumberCondition(match, wanted) : undefined;
  if (byNumber !== undefined) conditions.push([...missing, byNumber].join(" AND "));
  return either(conditions);
}

function levelNameCondition(
  value: string,
  { match, wanted }: {
    readonly match: SearchMatch;
    readonly wanted: readonly Severity[] | undefined;
  },
): string {
  if (wanted === undefined) return valueCondition(value, match);
  if (wanted.length === 0) return "FALSE";
  return `${value} IN (${wanted.flatMap(spellingsOf).map(quoteText).join(", ")})`;
}

/** Undefined: the match is about the name as it is written. */
function wantedLevels(
  match: SearchMatch,
  span: SearchTerm["span"],
): readonly Severity[] | undefined {
  if (match.kind === "text") {
    const severity = severityOf(match.text);
    return severity === undefined ? undefined : [severity];
  }
  if (match.kind !== "range") return undefined;
  const sets = match.bounds.map(({ operator, value }) => {
    const severity = severityOf(value);
    if (severity !== undefined) return severitiesBeside(operator, severity);
    throw new SearchError(
      `Cannot compare a level with ${JSON.stringify(value)}: write one of ` +
        Object.keys(SEVERITIES).join(", "),
      span,
    );
  });
  const [first = [], ...others] = sets;
  return first.filter((severity) => others.every((set) => set.includes(severity)));
}

/** Undefined: the number says nothing of such a match. */
function levelNumberCondition(
  match: SearchMatch,
  wanted: readonly Severity[] | undefined,
): string | undefined {
  const value = valueOf({ kind: "attribute", name: LEVEL_NUMBER });
  const number = `TRY_CAST(${value} AS INTEGER)`;
  const ranges = match.kind === "present"
    ? [[1, 24] as const]
    : wanted?.map((severity) => SEVERITIES[severity].numbers) ?? [];
  const conditions = ranges.map(([first, last]) => `${number} BETWEEN ${first} AND ${last}`);
  return conditions.length === 0 ? undefined : `(${conditions.join(" OR ")})`;
}

function valueOf(target: SearchTarget): string {
  switch (target.kind) {
    case "attribute":
      return attributeSql(target.name);
    case "column":
    case "text":
      return quoteName(target.column.name);
    case "level":
      throw new Error("a level is made of other targets");
  }
}

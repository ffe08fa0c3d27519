/**
 * Parts the text of a simple query into its statements, as PostgreSQL's lexer does: what stands in
 * quotes, dollar quotes or comments parts nothing.
 */

import { sqlTokens } from "../../../shared/engine/statement/sql_tokens.ts";

/** A statement, and where it begins in what was sent. */
export interface PartOfQuery {
  readonly text: string;
  readonly at: number;
}

/** A parameter `$1`, and where it stands. */
export interface NumberedParameter {
  readonly number: number;
  readonly at: number;
}

/** The numbered parameters of a statement, in order. */
export function numberedParameters(text: string): NumberedParameter[] {
  if (!text.includes("$")) return [];
  return sqlTokens(text).filter(({ text }) => /^\$\d+$/.test(text))
    .map(({ text, at }) => ({ number: Number(text.slice(1)), at }));
}

/** The texts between semicolons, those without a word left out. */
export function splitStatements(text: string): PartOfQuery[] {
  const statements: PartOfQuery[] = [];
  let from = 0;
  let hasWord = false;
  for (const { text: token, at, isBlank } of sqlTokens(text)) {
    if (token === ";") {
      if (hasWord) statements.push({ text: text.slice(from, at), at: from });
      from = at + 1;
      hasWord = false;
    } else if (!isBlank) {
      hasWord = true;
    }
  }
  if (hasWord) statements.push({ text: text.slice(from), at: from });
  return statements;
}

/** A text without blanks and comments before and behind its words. */
export function withoutComments(text: string): string {
  let first = -1;
  let last = 0;
  for (const { text: token, at, isBlank } of sqlTokens(text)) {
    if (isBlank) continue;
    if (first < 0) first = at;
    last = at + token.length;
  }
  return first < 0 ? "" : text.slice(first, last);
}

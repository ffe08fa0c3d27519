/**
 * Parts the text of a simple query into its statements, as PostgreSQL's lexer does: what stands in
 * quotes, dollar quotes or comments parts nothing.
 */

/** A statement, and where it begins in what was sent. */
export interface PartOfQuery {
  readonly text: string;
  readonly at: number;
}

/** A word, a text in quotes, a sign; or blanks, or a comment. */
export interface SqlToken {
  readonly text: string;
  readonly at: number;
  readonly isBlank: boolean;
}

/** A statement in its tokens, nothing left out. */
export function sqlTokens(text: string): SqlToken[] {
  return Array.from(
    text.matchAll(TOKEN),
    ({ 0: token, index }) => ({ text: token, at: index, isBlank: isBlank(token) }),
  );
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
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === ";") {
      if (hasWord) statements.push({ text: text.slice(from, index), at: from });
      from = index + 1;
      hasWord = false;
    } else if (!isBlank(token)) {
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
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (isBlank(token)) continue;
    if (first < 0) first = index;
    last = index + token.length;
  }
  return first < 0 ? "" : text.slice(first, last);
}

function isBlank(token: string): boolean {
  return /^(?:\s|--|\/\*)/.test(token);
}

/** What begins and does not end goes to the end of the text. */
const TOKEN = new RegExp(
  [
    String.raw`\s+`,
    String.raw`--[^\n]*`,
    String.raw`\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)`,
    String.raw`[eE]'(?:[^'\\]|\\[^]|'')*(?:'|$)`,
    String.raw`'(?:[^']|'')*(?:'|$)`,
    String.raw`"(?:[^"]|"")*(?:"|$)`,
    String.raw`\$(?<tag>(?:[A-Za-z_]\w*)?)\$[^]*?(?:\$\k<tag>\$|$)`,
    String.raw`[\w$]+`,
    String.raw`[^]`,
  ].join("|"),
  "g",
);

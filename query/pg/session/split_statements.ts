/**
 * Parts the text of a simple query into its statements, as PostgreSQL's lexer does: what stands in
 * quotes, dollar quotes or comments parts nothing.
 */

/** A statement, and where it begins in what was sent. */
export interface PartOfQuery {
  readonly text: string;
  readonly at: number;
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
    } else if (!/^(?:\s|--|\/\*)/.test(token)) {
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
    if (/^(?:\s|--|\/\*)/.test(token)) continue;
    if (first < 0) first = index;
    last = index + token.length;
  }
  return first < 0 ? "" : text.slice(first, last);
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

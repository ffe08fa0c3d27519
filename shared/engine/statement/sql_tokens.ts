/** The tokens of a statement's text, as PostgreSQL's and DuckDB's lexers part it. */

/** A word, a number, a text in quotes, a sign; or blanks, or a comment. */
export interface SqlToken {
  readonly text: string;
  readonly at: number;
  readonly isBlank: boolean;
}

/** A statement in its tokens, nothing left out. A sign is one character. */
export function sqlTokens(text: string): SqlToken[] {
  return Array.from(
    text.matchAll(TOKEN),
    ({ 0: token, index }) => ({ text: token, at: index, isBlank: isBlank(token) }),
  );
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
    String.raw`[\w$\x80-\uffff]+`,
    String.raw`[^]`,
  ].join("|"),
  "g",
);

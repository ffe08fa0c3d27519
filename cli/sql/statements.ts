/**
 * Cuts typed or piped text into SQL statements at `;`, minding quotes, comments and dollar quotes.
 * It finds ends only: whether a statement is good SQL is for the server to say.
 */

export interface SplitText {
  /** Complete statements, trimmed, without their `;`; blank ones are left out. */
  readonly statements: readonly string[];
  /** What follows the last `;`, as it is: more text may follow it. */
  readonly rest: string;
  /** Whether `rest` is only space and comments so far. */
  readonly restIsBlank: boolean;
}

// Alternatives in this order: line comment, block comment, quoted name, text, dollar-quoted text,
// end. An opening that is never closed swallows the rest, so that its statement stays open.
const TOKENS =
  /--[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)|"(?:[^"]|"")*(?:"|$)|'(?:[^']|'')*(?:'|$)|\$([A-Za-z_]*)\$(?:[\s\S]*?\$\1\$|[\s\S]*$)|;/g;
const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g;

/** The statements of a text that are ended by a semicolon, and what is left behind the last one. */
export function splitStatements(text: string): SplitText {
  const statements: string[] = [];
  let start = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match[0] !== ";") continue;
    const statement = text.slice(start, match.index).trim();
    if (!isBlank(statement)) statements.push(statement);
    start = match.index + 1;
  }
  const rest = text.slice(start);
  return { statements, rest, restIsBlank: isBlank(rest) };
}

function isBlank(text: string): boolean {
  return text.replace(COMMENTS, "").trim() === "";
}

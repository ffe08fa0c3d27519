/** SQL as words and marks: enough to split statements and to see which tables they name. */

/** `from` and `to` are places in the text. */
export interface SqlToken {
  readonly kind: "word" | "name" | "text" | "mark";
  readonly from: number;
  readonly to: number;
}

/** What opens a comment, a text or a quoted name; the rest is words and single marks. */
const TOKEN = new RegExp(
  [
    String.raw`--[^\n]*`,
    String.raw`/\*[^]*?(?:\*/|$)`,
    String.raw`\s+`,
    String.raw`(?<text>'(?:[^']|'')*(?:'|$)|\$(?<tag>\w*)\$[^]*?(?:\$\k<tag>\$|$))`,
    String.raw`(?<name>"(?:[^"]|"")*(?:"|$))`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_$]*)`,
    String.raw`(?<mark>\d[\w.]*|[^])`,
  ].join("|"),
  "gu",
);

const KINDS = ["word", "name", "text", "mark"] as const;

/** Returns the tokens, without blanks and comments. What is not closed reaches to the end. */
export function sqlTokens(sql: string): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const { index, 0: { length }, groups } of sql.matchAll(TOKEN)) {
    const kind = KINDS.find((one) => groups?.[one] !== undefined);
    if (kind !== undefined) tokens.push({ kind, from: index, to: index + length });
  }
  return tokens;
}

/** A statement of a longer text, without the semicolon after it. */
export interface SqlStatement {
  readonly sql: string;
  /** Where it begins in the text. */
  readonly from: number;
}

/** Splits a text at its semicolons; what holds no token is no statement. */
export function splitStatements(text: string): readonly SqlStatement[] {
  const found: SqlStatement[] = [];
  let first: SqlToken | undefined;
  let last: SqlToken | undefined;
  const end = () => {
    if (first !== undefined && last !== undefined) {
      found.push({ sql: text.slice(first.from, last.to), from: first.from });
    }
    first = undefined;
  };
  for (const token of sqlTokens(text)) {
    if (token.kind === "mark" && text[token.from] === ";") {
      end();
      continue;
    }
    first ??= token;
    last = token;
  }
  end();
  return found;
}

const OPENS_TABLES: ReadonlySet<string> = new Set(["from", "join", "describe", "summarize"]);
const ENDS_TABLES: ReadonlySet<string> = new Set(
  ["where", "group", "order", "having", "limit", "offset", "qualify", "window", "select", "union"]
    .concat(["except", "intersect"]),
);

/**
 * Returns the tables that a statement reads as `schema.table`, in lower case, without schemas that
 * only name a column's table.
 */
export function tablesOfSchema(sql: string, schema: string): ReadonlySet<string> {
  const tokens = sqlTokens(sql);
  const found = new Set<string>();
  // For each open parenthesis, whether a comma is followed by a table.
  const isList = [false];
  let isNext = false;
  tokens.forEach((token, at) => {
    const text = sql.slice(token.from, token.to);
    if (token.kind === "mark") {
      if (text === "(") isList.push(isNext);
      else if (text === ")" && isList.length > 1) isList.pop();
      if (text !== "(") isNext = text === "," && isList.at(-1) === true;
      return;
    }
    const word = token.kind === "word" ? text.toLowerCase() : "";
    const opens = OPENS_TABLES.has(word);
    if (opens || ENDS_TABLES.has(word)) {
      isList[isList.length - 1] = opens;
      isNext = opens;
      return;
    }
    const [dot, table] = [tokens[at + 1], tokens[at + 2]];
    const isSchema = isNext && nameOf(text) === schema && dot !== undefined &&
      sql[dot.from] === "." && table !== undefined && table.kind !== "mark";
    if (isSchema) found.add(nameOf(sql.slice(table.from, table.to)));
    isNext = false;
  });
  return found;
}

/** Names of tables are compared without case, in quotes, too. */
function nameOf(token: string): string {
  const name = token.startsWith('"') ? token.slice(1, -1).replaceAll('""', '"') : token;
  return name.toLowerCase();
}

/**
 * Spellings of PostgreSQL that DuckDB's parser does not read, and that clients send when they look
 * into the catalog: `OPERATOR(pg_catalog.~)`, types with their schema, `::pg_catalog.text`, and
 * `EXISTS (SELECT FROM …)`.
 * Blanks take the place of what is left out, so places in the text stay what they were.
 */

/**
 * Texts, names, comments, and what is to change. What begins and does not end goes to the end, so
 * that no text is searched again and again for it.
 */
const PIECES = new RegExp(
  [
    /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/,
    /'(?:[^']|'')*'/,
    /"(?:[^"]|"")*"/,
    /(?<![\w$])\$(\w*)\$[\s\S]*?(?:\$\1\$|$)/,
    /--[^\n]*/,
    /\/\*[\s\S]*?(?:\*\/|$)/,
    /(\bOPERATOR\s*\(\s*pg_catalog\s*\.\s*)([^\s)\w]+)(\s*\))/,
    /(::\s*|\bAS\s+)(pg_catalog\s*\.\s*)/,
    /(\bEXISTS\s*\(\s*SELECT)\s(?=\s*FROM\b)/,
  ].map(({ source }) => source).join("|"),
  "gi",
);

/** Returns the text as DuckDB's parser reads it; most texts are it already. */
export function plainSpelling(sql: string): string {
  if (!/\bpg_catalog\s*\.|\bSELECT\s+FROM\b/i.test(sql)) return sql;
  return sql.replaceAll(
    PIECES,
    (
      whole,
      _tag,
      before?: string,
      operator?: string,
      after?: string,
      kept?: string,
      left?: string,
      exists?: string,
    ) => {
      if (typeof exists === "string") return `${exists}*`;
      if (operator !== undefined) return blank(before) + operator + blank(after);
      return kept === undefined ? whole : kept + blank(left);
    },
  );
}

function blank(text = ""): string {
  return text.replaceAll(/\S/g, " ");
}

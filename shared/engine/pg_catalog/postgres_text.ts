/**
 * Spellings of PostgreSQL that DuckDB's parser does not read, and that clients send when they look
 * into the catalog. These are `OPERATOR(pg_catalog.~)`, types with their schema, such as
 * `::pg_catalog.text`, `EXISTS (SELECT FROM …)`, and a relation called `at`. Blanks take the place
 * of what is left out, so places in the text stay what they were.
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
    /(?<![\w$])\$(?<tag>\w*)\$[\s\S]*?(?:\$\k<tag>\$|$)/,
    /--[^\n]*/,
    /\/\*[\s\S]*?(?:\*\/|$)/,
    /(?<before>\bOPERATOR\s*\(\s*pg_catalog\s*\.\s*)(?<operator>[^\s)\w]+)(?<after>\s*\))/,
    /(?<kept>::\s*|\bAS\s+)(?<left>pg_catalog\s*\.\s*)/,
    /(?<exists>\bEXISTS\s*\(\s*SELECT)\s(?=\s*FROM\b)/,
    /(?<named>\bpg_\w+\s+(?:AS\s+)?|(?<![.\w$])(?=at\s*\.))at\b/,
  ].map(({ source }) => source).join("|"),
  "gi",
);

/** Returns the text as DuckDB's parser reads it; most texts are it already. */
export function plainSpelling(sql: string): string {
  if (!/\bpg_catalog\s*\.|\bSELECT\s+FROM\b|\bpg_\w+\s+(?:AS\s+)?at\b/i.test(sql)) return sql;
  return sql.replaceAll(PIECES, (whole, ...more) => {
    const { before, operator, after, kept, left, exists, named } = more.at(-1);
    if (exists !== undefined) return `${exists}*`;
    // AT is a word of DuckDB's.
    if (named !== undefined) return `${named}_t`;
    if (operator !== undefined) return blank(before) + operator + blank(after);
    return kept === undefined ? whole : kept + blank(left);
  });
}

function blank(text = ""): string {
  return text.replaceAll(/\S/g, " ");
}

/** Types whose values cross between servers, by Arrow and Parquet, without a change. */

const PLAIN: ReadonlySet<string> = new Set([
  "BOOLEAN",
  "TINYINT",
  "SMALLINT",
  "INTEGER",
  "BIGINT",
  "HUGEINT",
  "UTINYINT",
  "USMALLINT",
  "UINTEGER",
  "UBIGINT",
  "FLOAT",
  "DOUBLE",
  "VARCHAR",
  "JSON",
  "BLOB",
  "DATE",
  "TIME",
  "TIMESTAMP",
  "TIMESTAMP_NS",
  "TIMESTAMP WITH TIME ZONE",
]);

/** Whether values of a type, by DuckDB's name of it, cross as they are. */
export function carriesType(type: string): boolean {
  if (PLAIN.has(type) || /^DECIMAL\(\d+,\d+\)$/.test(type)) return true;
  if (type.endsWith("[]")) return carriesType(type.slice(0, -2));
  const [, kind, inner = ""] = /^(STRUCT|MAP)\((.*)\)$/s.exec(type) ?? [];
  if (kind === undefined) return false;
  const members = membersOf(inner);
  return members.every((member) =>
    carriesType(kind === "MAP" ? member : member.replace(/^(?:"(?:[^"]|"")*"|\S+) /, ""))
  );
}

/** The texts between the commas that are in no parentheses and no quotes. */
function membersOf(text: string): string[] {
  const members: string[] = [];
  let [depth, start, isQuoted] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (letter !== "," || depth > 0) continue;
    members.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return [...members, text.slice(start).trim()];
}

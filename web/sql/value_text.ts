/** Values as text: in a cell, whole, and in files. */

import type { Value } from "../api/sql_client.ts";

/** The whole value on one line of JSON, or its text. */
export function valueText(value: Value): string {
  if (value === null) return "";
  if (typeof value === "object") return JSON.stringify(value);
  return Object.is(value, -0) ? "-0" : String(value);
}

const CELL_LETTERS = 300;

/** What a cell shows of a value: its beginning, on one line. */
export function cellText(value: Value): string {
  const text = valueText(value);
  const beginning = text.length > CELL_LETTERS ? `${text.slice(0, CELL_LETTERS)}…` : text;
  return beginning.replaceAll(/[\n\r\t]/g, " ");
}

/** The value for reading: JSON by its members, anything else as it is. */
export function readableText(value: Value): string {
  if (value !== null && typeof value === "object") return JSON.stringify(value, null, 2);
  const text = valueText(value);
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Rows as a file of RFC 4180. NULL is an empty cell, the empty text `""`. */
export function csvFile(
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const cell = (value: Value) =>
    value === null ? "" : typeof value === "string" ? quoted(value) : cellOf(value);
  const cellOf = (value: Exclude<Value, string | null>) =>
    typeof value === "object" ? quoted(valueText(value)) : valueText(value);
  const lines = [columns.map(quoted), ...rows.map((row) => row.map(cell))];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

/** Rows as objects of JSON, one a line. A repeated name gets `_1`, `_2`, …. */
export function ndjsonFile(
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): string {
  const seen = new Set<string>();
  const names = columns.map((name) => {
    let unique = name;
    for (let n = 1; seen.has(unique); n += 1) unique = `${name}_${n}`;
    seen.add(unique);
    return unique;
  });
  const line = (row: readonly Value[]) =>
    JSON.stringify(Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])));
  return rows.map((row) => `${line(row)}\n`).join("");
}

/**
 * A value of an answer as text for people: NULL is `NULL`, and a text that reads so is in quotes.
 */

import { printable } from "./display_width.ts";
import { ExactNumber, type JsonValue } from "./exact_json.ts";

export interface Cell {
  readonly text: string;
  readonly isNull: boolean;
  readonly isNumber: boolean;
}

/** A value as a cell of a table shows it. */
export function cellOf(value: JsonValue): Cell {
  if (value === null) return { text: "NULL", isNull: true, isNumber: false };
  if (typeof value === "string") {
    const text = value === "NULL" ? '"NULL"' : printable(value);
    return { text, isNull: false, isNumber: false };
  }
  if (value instanceof ExactNumber) return { text: value.text, isNull: false, isNumber: true };
  if (typeof value === "number") return { text: String(value), isNull: false, isNumber: true };
  return { text: printable(JSON.stringify(value)), isNull: false, isNumber: false };
}

/** ANSI attributes, or none. */
export function painters(color: boolean) {
  const attribute = (on: number) => (text: string) => color ? `\x1b[${on}m${text}\x1b[22m` : text;
  return { bold: attribute(1), dim: attribute(2) };
}

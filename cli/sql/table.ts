/**
 * A result as an aligned text table:
 *
 *     host  |  n
 *     ------+---
 *     web-1 | 42
 *
 * A column of numbers is aligned right. NULL is written `NULL`, and a text that reads `NULL` in quotes, so
 * the two differ without colour too. One row is one line, whatever its cells hold. With a width, cells are
 * cut so that a line fits, but no column falls below `COLUMN_WIDTH_MIN`.
 */

import { clipToWidth, displayWidth, printable } from "./display_width.ts";
import { ExactNumber, type JsonValue } from "./exact_json.ts";

export const COLUMN_WIDTH_MIN = 8;

const SEPARATOR = " | ";
const SEPARATOR_RULE = "-+-";

export interface TableStyle {
  /** Columns of the terminal; undefined writes every cell whole. */
  readonly width?: number | undefined;
  /** Use ANSI attributes: bold header, dim NULL. */
  readonly color: boolean;
}

interface Cell {
  readonly text: string;
  readonly isNull: boolean;
  readonly isNumber: boolean;
}

/** Lines of the table, header first, without line ends. */
export function renderTable(
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
  style: TableStyle,
): string[] {
  if (columns.length === 0) return [];
  const names = columns.map(printable);
  const cells = rows.map((row) => columns.map((_, at) => cellOf(row[at] ?? null)));
  const right = columns.map((_, at) => isNumeric(cells, at));
  const natural = names.map((name, at) =>
    cells.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[at]?.text ?? "")),
      displayWidth(name),
    )
  );
  const widths = fitWidths(natural, style.width);

  const bold = (text: string) => style.color ? `\x1b[1m${text}\x1b[22m` : text;
  const dim = (text: string) => style.color ? `\x1b[2m${text}\x1b[22m` : text;
  const line = (texts: readonly string[], paint: (text: string, at: number) => string) =>
    texts.map((text, at) => {
      const last = at === texts.length - 1;
      const padded = pad(text, widths[at] ?? 0, right[at] ?? false, last);
      return padded.before + paint(padded.text, at) + padded.after;
    }).join(SEPARATOR);

  return [
    line(names, bold),
    widths.map((width) => "-".repeat(width)).join(SEPARATOR_RULE),
    ...cells.map((row) =>
      line(row.map((cell) => cell.text), (text, at) => row[at]?.isNull ? dim(text) : text)
    ),
  ];
}

function cellOf(value: JsonValue): Cell {
  if (value === null) return { text: "NULL", isNull: true, isNumber: false };
  if (typeof value === "string") {
    const text = value === "NULL" ? '"NULL"' : printable(value);
    return { text, isNull: false, isNumber: false };
  }
  if (value instanceof ExactNumber) return { text: value.text, isNull: false, isNumber: true };
  if (typeof value === "number") return { text: String(value), isNull: false, isNumber: true };
  return { text: printable(JSON.stringify(value)), isNull: false, isNumber: false };
}

function isNumeric(cells: readonly (readonly Cell[])[], at: number): boolean {
  const filled = cells.filter((row) => row[at]?.isNull === false);
  return filled.length > 0 && filled.every((row) => row[at]?.isNumber);
}

/** Cuts the widest columns first, all to one same width, until a line fits into `lineWidth`. */
export function fitWidths(natural: readonly number[], lineWidth: number | undefined): number[] {
  if (lineWidth === undefined) return [...natural];
  let budget = lineWidth - SEPARATOR.length * (natural.length - 1);
  let left = natural.length;
  let cap = Infinity;
  for (const width of [...natural].sort((a, b) => a - b)) {
    const share = Math.floor(budget / left);
    if (width > share) {
      cap = Math.max(share, COLUMN_WIDTH_MIN);
      break;
    }
    budget -= width;
    left -= 1;
  }
  return natural.map((width) => Math.min(width, cap));
}

function pad(text: string, width: number, right: boolean, last: boolean) {
  const clipped = clipToWidth(text, width);
  const gap = " ".repeat(Math.max(0, width - displayWidth(clipped)));
  if (right) return { before: gap, text: clipped, after: "" };
  return { before: "", text: clipped, after: last ? "" : gap };
}

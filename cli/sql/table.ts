/**
 * A result as an aligned text table:
 *
 *     host  |  n
 *     ------+---
 *     web-1 | 42
 *
 * A column of numbers is aligned right. One row is one line, whatever its cells hold. With a width,
 * cells are cut so that a line fits, but no column falls below `COLUMN_WIDTH_MIN`.
 */

import { type Cell, cellOf, painters } from "./cell.ts";
import { clipToWidth, displayWidth, printable } from "./display_width.ts";
import type { JsonValue } from "./exact_json.ts";

export const COLUMN_WIDTH_MIN = 8;

const SEPARATOR = " | ";
const SEPARATOR_RULE = "-+-";

export interface TableStyle {
  /** Columns of the terminal; undefined writes every cell whole. */
  readonly width?: number | undefined;
  /** Use ANSI attributes: bold header, dim NULL. */
  readonly color: boolean;
}

export interface Table {
  /** Width to which the widest columns are cut; undefined when no cell is. */
  readonly cutWidth: number | undefined;
  /** Header first, without line ends. */
  lines(): string[];
}

/** Lays rows out as a table, as wide as the terminal allows. */
export function layoutTable(
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
  style: TableStyle,
): Table {
  if (columns.length === 0) return { cutWidth: undefined, lines: () => [] };
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

  const cut = widths.filter((width, at) => width < (natural[at] ?? 0));
  return {
    cutWidth: cut.length === 0 ? undefined : Math.max(...cut),
    lines: () => drawLines({ names, cells, widths, right }, style),
  };
}

interface Drawing {
  readonly names: readonly string[];
  readonly cells: readonly (readonly Cell[])[];
  readonly widths: readonly number[];
  /** Which columns are aligned right. */
  readonly right: readonly boolean[];
}

function drawLines({ names, cells, widths, right }: Drawing, style: TableStyle): string[] {
  const { bold, dim } = painters(style.color);
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

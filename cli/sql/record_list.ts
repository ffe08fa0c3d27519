/**
 * A result with one line per value, for rows that are wider than the terminal:
 *
 *     row 1 ------
 *     host | web-1
 *     n    | 42
 *
 * Values are whole: a long one wraps, and can be copied.
 */

import { cellOf, painters } from "./cell.ts";
import { displayWidth, printable } from "./display_width.ts";
import type { JsonValue } from "./exact_json.ts";
import type { TableStyle } from "./table.ts";

const RULE_WIDTH_MAX = 60;

/** Lines of all rows, without line ends; one that says so when there are none. */
export function renderRecords(
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
  style: TableStyle,
): string[] {
  if (rows.length === 0) return ["no rows"];
  const { bold, dim } = painters(style.color);
  const names = columns.map(printable);
  const nameWidth = Math.max(0, ...names.map(displayWidth));
  const ruleWidth = Math.min(style.width ?? RULE_WIDTH_MAX, RULE_WIDTH_MAX);
  return rows.flatMap((row, at) => [
    dim(`row ${at + 1} `.padEnd(ruleWidth, "-")),
    ...names.map((name, column) => {
      const { text, isNull } = cellOf(row[column] ?? null);
      const gap = " ".repeat(nameWidth - displayWidth(name));
      return `${bold(name)}${gap} | ${isNull ? dim(text) : text}`.trimEnd();
    }),
  ]);
}

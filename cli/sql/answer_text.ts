/**
 * An answer as people read it: a table where a row has room on its line, else a line per value. A
 * plan, which `EXPLAIN` gives as one text, comes as the lines that it is drawn in.
 */

import { printable } from "./display_width.ts";
import type { JsonValue } from "./exact_json.ts";
import { renderRecords } from "./record_list.ts";
import { layoutTable, type TableStyle } from "./table.ts";

/** When to write a line per value. */
export const EXPANDED = ["auto", "on", "off"] as const;
export type Expanded = typeof EXPANDED[number];

/** A table whose columns are cut to fewer characters than this tells too little. */
export const CUT_WIDTH_MIN = 32;

/** Lines without line ends. With `auto` and no width (a pipe) it is always a table. */
export function renderAnswer(
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
  { expanded = "auto", ...style }: TableStyle & { readonly expanded?: Expanded | undefined },
): string[] {
  const plan = planOf(columns, rows);
  if (plan !== undefined && expanded !== "on") return plan.split("\n").map(printable);
  if (expanded === "on" && columns.length > 0) return renderRecords(columns, rows, style);
  const table = layoutTable(columns, rows, style);
  const { cutWidth } = table;
  const cramped = cutWidth !== undefined && cutWidth < CUT_WIDTH_MIN;
  return expanded === "auto" && cramped ? renderRecords(columns, rows, style) : table.lines();
}

function planOf(
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
): string | undefined {
  if (columns.length !== 1 || columns[0] !== "plan" || rows.length !== 1) return undefined;
  const value = rows[0]?.[0];
  return typeof value === "string" ? value.trimEnd() : undefined;
}

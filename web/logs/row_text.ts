/** What the line of a row says. */

import { type LogRow, textOf } from "./log_rows.ts";
import { texts } from "./log_state.ts";

/** The text of a row, as its line shows it. */
export function lineOf(row: LogRow): string {
  return texts.value.map((name) => textOf(row.values[name])).join(" ");
}

/** The program that a row came from. */
export function sourceOf(row: LogRow): string {
  return textOf(row.values["source"] ?? row.values["service"] ?? row.values["service_name"]);
}

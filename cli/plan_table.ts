/**
 * The plan of a command that changes or removes something, as a table, and whether it is carried
 * out.
 */

import type { SwitchOption } from "../shared/config/options.ts";
import { type Console, OutputClosed } from "./console.ts";
import type { JsonValue } from "./sql/exact_json.ts";
import { renderRecords } from "./sql/record_list.ts";
import { layoutTable } from "./sql/table.ts";

export const APPLY_OPTION = {
  kind: "switch",
  flag: "apply",
  help: "Carry out the plan. Without it the plan is only printed.",
} as const satisfies SwitchOption;

export const DRY_RUN_OPTION = {
  kind: "switch",
  flag: "dry-run",
  help: "Print what would be done; nothing is changed.",
} as const satisfies SwitchOption;

/**
 * Prints one line for each row to stdout, or one for each value where a terminal is too narrow: a
 * name that is cut could be another's. A plan without rows is its header. A reader that stops
 * (`… --apply | grep -q`) has not called off what was asked for.
 */
export async function printPlan(
  console: Console,
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
): Promise<void> {
  const style = { width: console.output.columns(), color: console.output.isStyled };
  const table = layoutTable(columns, rows, style);
  const isCut = table.cutWidth !== undefined && rows.length > 0;
  const lines = isCut ? renderRecords(columns, rows, style) : table.lines();
  try {
    await console.output.write(`${lines.join("\n")}\n`);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}

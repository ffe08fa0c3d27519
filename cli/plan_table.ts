/** The plan of a command that changes or removes something, as a table, and whether it is carried out. */

import type { SwitchOption } from "../shared/config/options.ts";
import { type Console, OutputClosed } from "./console.ts";
import type { JsonValue } from "./sql/exact_json.ts";
import { layoutTable } from "./sql/table.ts";

export const APPLY_OPTION = {
  kind: "switch",
  flag: "apply",
  help: "Carry the plan out; without it the plan is printed and nothing is changed.",
} as const satisfies SwitchOption;

export const DRY_RUN_OPTION = {
  kind: "switch",
  flag: "dry-run",
  help: "Print what would be done; nothing is changed.",
} as const satisfies SwitchOption;

/**
 * One line for each row, to stdout; a plan without rows is its header. Who stops reading (`… --apply | grep -q`) has not
 * called off what he asked for.
 */
export async function printPlan(
  console: Console,
  columns: readonly string[],
  rows: readonly (readonly JsonValue[])[],
): Promise<void> {
  const table = layoutTable(columns, rows, {
    width: console.output.columns(),
    color: console.output.isStyled,
  });
  try {
    await console.output.write(`${table.lines().join("\n")}\n`);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}

/** What a scan is spared, and in which files, for people. */

import { counted } from "../../base/counted.ts";
import type { MadeChoice } from "../plan/made_columns.ts";
import { isCompleteIn, type TablePlan } from "../plan/plan.ts";

/** Returns a line for each thing that is told in a cheap way of some files, for `EXPLAIN`. */
export function sparedReads(tables: readonly TablePlan[]): readonly string[] {
  const lines = tables.flatMap((table) => {
    const made = [...table.made.values()].filter((made) => made.form === "choice");
    return made.map((own) => lineOf(table, own));
  });
  return [...new Set(lines)];
}

function lineOf(table: TablePlan, { sources: [source], cheap, dear }: MadeChoice): string {
  const [spared, read] = [new Set<string>(), new Set<string>()];
  const segments = new Set<string>();
  for (const part of table.parts) {
    if (part.origin === "delta") segments.add(part.path);
    else (isCompleteIn(table, part, source) ? spared : read).add(part.path);
  }
  const others = [
    ...read.size === 0 ? [] : [counted(read.size, "file")],
    ...segments.size === 0 ? [] : [`${counted(segments.size, "piece")} of the WAL`],
  ];
  const rest = others.length === 0 ? "" : `, ${dear.told} ${others.join(" and ")}`;
  return `${table.name}: ${cheap.told} ${counted(spared.size, "file")}${rest}`;
}

/** Where a statement looks for words in texts, and where rows tell of them. */

import { counted } from "../../base/counted.ts";
import type { MadeWords } from "../plan/made_columns.ts";
import { isCompleteIn, type TablePlan } from "../plan/plan.ts";

/** Returns a line for each text of whose words some rows tell, for `EXPLAIN`. */
export function wordReads(tables: readonly TablePlan[]): readonly string[] {
  const lines = tables.flatMap((table) => {
    const made = [...table.made.values()].filter((made) => made.form === "words");
    return made.map((own) => lineOf(table, own));
  });
  return [...new Set(lines)];
}

function lineOf(table: TablePlan, { sources: [source], text }: MadeWords): string {
  const [told, sought] = [new Set<string>(), new Set<string>()];
  const segments = new Set<string>();
  for (const part of table.parts) {
    if (part.origin === "delta") segments.add(part.path);
    else (isCompleteIn(table, part, source) ? told : sought).add(part.path);
  }
  const texts = [
    ...sought.size === 0 ? [] : [counted(sought.size, "file")],
    ...segments.size === 0 ? [] : [`${counted(segments.size, "piece")} of the WAL`],
  ];
  const rest = texts.length === 0 ? "" : `, looked for in texts of ${texts.join(" and ")}`;
  return `${table.name}: words of ${text} are told by rows of ${counted(told.size, "file")}${rest}`;
}

/** Which attributes a statement looks up in JSON although columns could hold them, and why. */

import { counted } from "../../base/counted.ts";
import { ATTRIBUTES, isUnasked } from "../../schema/promoted.ts";
import { type MadeColumn, servingSources } from "../plan/made_columns.ts";
import { isCompleteIn, type TablePlan } from "../plan/plan.ts";
import { namedColumns } from "../plan/projection.ts";
import type { Prepared } from "../prepared.ts";

/** Returns a line for each attribute and table, for `EXPLAIN`. */
export function jsonReads(
  { plan, left, statement }: Pick<Prepared, "plan" | "left" | "statement">,
): readonly string[] {
  const named = namedColumns(statement.root);
  const ofTables = plan.tables.flatMap((table) => {
    const used = [...table.made].filter(([name]) =>
      isUnasked(name) || (named?.has(name.toLowerCase()) ?? true)
    );
    return used.flatMap(([, made]) => lineOf(table, made) ?? []);
  });
  const others = plan.tables.some(needsNoJson)
    ? []
    : left.map(({ attribute, why }) => line("", attribute, why));
  return [...new Set([...ofTables, ...others])];
}

/** Whether attributes matter to no row that is read (`spared/unneeded_json.ts`). */
function needsNoJson(table: TablePlan): boolean {
  return [...table.made.values()].some((made) =>
    made.form === "choice" && made.dear.reads.includes(ATTRIBUTES) &&
    table.parts.every((part) => isCompleteIn(table, part, made.sources[0]))
  );
}

function lineOf(table: TablePlan, made: MadeColumn): string | undefined {
  if (made.form === "choice") return undefined;
  const sources = servingSources(made);
  if (sources.length === 0) return undefined;
  const [old, odd] = [new Set<string>(), new Set<string>()];
  const segments = new Set<string>();
  for (const part of table.parts) {
    if (sources.some((source) => isCompleteIn(table, part, source))) continue;
    if (part.origin === "delta") {
      segments.add(part.path);
    } else {
      const hasColumn = sources.some(({ id }) => part.file.valueCounts.has(id));
      (hasColumn ? odd : old).add(part.path);
    }
  }
  const reasons = [
    ...old.size === 0 ? [] : [`${counted(old.size, "file")} from before its column`],
    ...odd.size === 0
      ? []
      : [`${counted(odd.size, "file")} with values that the column cannot hold`],
    ...segments.size === 0 ? [] : [`${counted(segments.size, "piece")} of the WAL`],
  ];
  if (reasons.length === 0) return undefined;
  return line(`${table.name}: `, made.attribute, reasons.join(", "));
}

function line(table: string, attribute: string, why: string): string {
  return `${table}JSON is read for attribute ${JSON.stringify(attribute)}: ${why}`;
}

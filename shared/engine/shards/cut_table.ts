/** Leaves out the rows of a file that another shard has. */

import type { RowRange, ScanPart, TablePlan } from "../plan/plan.ts";
import { ROW_GROUP_ROWS } from "../../parquet/row_groups.ts";

/** The plan with the parts of cut files narrowed to the rows of the shard. Pure. */
export function cutTable(table: TablePlan): TablePlan {
  const { cuts } = table;
  if (cuts === undefined) return table;
  const parts = table.parts.flatMap((part): ScanPart[] => {
    const ranges = part.origin === "file" ? cuts.get(part.file.key) : undefined;
    return ranges === undefined ? [part] : ranges.flatMap((cut) => cutPart(part, cut));
  });
  return { ...table, parts };
}

function cutPart(part: ScanPart, cut: RowRange): ScanPart[] {
  const whole = part.range ?? { first: 0, end: part.rows };
  const range = { first: Math.max(whole.first, cut.first), end: Math.min(whole.end, cut.end) };
  if (range.first >= range.end) return [];
  const rowNumbers = part.rowNumbers?.filter((row) => row >= range.first && row < range.end);
  if (rowNumbers?.length === 0) return [];
  const groups = Math.ceil((range.end - range.first) / ROW_GROUP_ROWS);
  return [{ ...part, range, rowNumbers, rowGroupsRead: Math.min(part.rowGroupsRead, groups) }];
}

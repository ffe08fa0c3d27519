/** What is told of a table of a prepared statement. */

import { shownName } from "../hot_caches/hot_call.ts";
import type { PlannedTable } from "../types.ts";
import { countFiles, type TablePlan } from "./plan.ts";

export function plannedTable({ name, version, committed, parts, pruned }: TablePlan): PlannedTable {
  return {
    table: shownName(name),
    snapshot_id: version?.snapshotId === undefined ? null : String(version.snapshotId),
    ...(committed.kind === "since" ? { since: String(committed.snapshotId) } : {}),
    files: countFiles(parts.filter((part) => part.origin === "file")),
    ...(pruned === undefined ? {} : {
      files_pruned_bloom: pruned.files,
      row_groups_pruned_bloom: pruned.rowGroups,
    }),
  };
}

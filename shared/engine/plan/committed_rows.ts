/** The committed rows that a statement reads of one table, as data files of its snapshot. */

import { rangeFilter } from "../../iceberg/prune.ts";
import { filesSince } from "../../iceberg/table_history.ts";
import type { TouchedFile } from "../../iceberg/touched_files.ts";
import type { SelectedFiles, TimeRange } from "../../iceberg/types.ts";
import type { TablePlan } from "./plan.ts";
import type { PlanRequest, PlanSource } from "./plan_request.ts";
import type { RemainingLease } from "./remaining_rows.ts";
import type { TableSnapshot } from "./snapshot.ts";

const NO_FILES: SelectedFiles = { files: [], considered: 0 };
const NOTHING_SELECTED = { ...NO_FILES, touched: [] } as const;

/** The files of a snapshot in a range, and those of them from which another engine deleted rows. */
export async function selectionOf(
  source: PlanSource,
  { table }: TableSnapshot,
  range: TimeRange,
): Promise<SelectedFiles & { readonly touched: readonly TouchedFile[] }> {
  if (table === undefined) return NOTHING_SELECTED;
  return await source.tables.selectWithDeletes(table, range);
}

/** Which committed rows are read, and in which files they are. */
export interface CommittedPlan
  extends Pick<TablePlan, "committed" | "files" | "considered" | "lacking"> {
  readonly remaining: RemainingLease | undefined;
}

/** Which committed rows of a snapshot the request reads, and in which files they are. */
export async function committedRows(
  source: PlanSource,
  snapshot: TableSnapshot,
  { request, range }: { readonly request: PlanRequest; readonly range: TimeRange },
): Promise<CommittedPlan> {
  const { since, uncommittedOnly } = request;
  const remaining = undefined;
  const newer = since === undefined
    ? undefined
    : await selectionSince(source, snapshot, { since, range });
  if (since !== undefined && newer !== undefined) {
    const selection = intact(source, uncommittedOnly ? NO_FILES : newer);
    return { committed: { kind: "since", snapshotId: since }, ...selection, remaining };
  }
  if (uncommittedOnly) return { committed: { kind: "none" }, ...NO_FILES, remaining };
  const filesIn = async (wanted: TimeRange) =>
    intact(source, await selectionOf(source, snapshot, wanted)).files;
  const { touched, ...selected } = await selectionOf(source, snapshot, range);
  const selection = intact(source, selected);
  const { table } = snapshot;
  if (touched.length === 0 || table === undefined) {
    return { committed: { kind: "all", filesIn }, ...selection, remaining };
  }
  return {
    committed: { kind: "most", filesIn },
    ...selection,
    remaining: await source.remaining.lease(table, touched, request.deadline.signal),
  };
}

/** A selection without the files, damaged or gone, that statements leave out. */
function intact(
  { damaged }: PlanSource,
  selection: SelectedFiles,
): SelectedFiles & Pick<TablePlan, "lacking"> {
  const { files, leftOut } = damaged.without(selection.files);
  if (leftOut.length === 0) return selection;
  const lacking = leftOut.map((key) => `the data file ${key} is damaged or gone and was left out`);
  return { ...selection, files, lacking };
}

/** Selects the files that came after a snapshot; undefined: all files are to be read. */
async function selectionSince(
  { tables }: PlanSource,
  { table }: TableSnapshot,
  { since, range }: { readonly since: bigint; readonly range: TimeRange },
): Promise<SelectedFiles | undefined> {
  if (table === undefined) return undefined;
  const files = await filesSince(tables, table, since);
  if (files === undefined) return undefined;
  return { files: files.filter(rangeFilter(range).file), considered: files.length };
}

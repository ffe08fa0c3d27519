/** What the indexes of one data file leave of it. */

import { runSteps, type Soon, soon, type SoonSteps } from "../../base/steps.ts";
import type { RowQuery } from "../../derived/rows/row_query.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { ParquetFooter } from "../../parquet/footer.ts";
import { evenStarts, ROW_GROUP_ROWS, rowGroupStarts } from "../../parquet/row_groups.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { scanMs } from "../cost/cost.ts";
import {
  countFiles,
  filePart,
  partBytes,
  partRows,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import { sourcesOf } from "../plan/made_columns.ts";
import type { RowIndexes } from "./row_index.ts";
import {
  type Evaluation,
  type RowGroupRows,
  type SelectedParts,
  selectedParts,
} from "./selected_parts.ts";

/** Indexes, and where footers and sidecars are read. */
export interface SelectionDeps {
  readonly indexes: RowIndexes;
  /** The store that sidecars are read from. */
  readonly store: ReadableStore;
  readonly path: (file: DataFile) => string;
  readonly footer: (file: DataFile) => Promise<ParquetFooter>;
}

/** What is left of a file, and all of it. */
export interface FileSelection extends SelectedParts {
  /** A part that is all of the file. */
  readonly whole: ScanPart;
}

/** Selects rows of one file. Never fails: what cannot be read is not left out. */
export function selectOfFile(
  file: DataFile,
  by: SelectedBy,
  deps: SelectionDeps,
): Soon<FileSelection> {
  return runSteps(selection(file, by, deps));
}

interface SelectedBy {
  readonly plan: Pick<TablePlan, "schema" | "stored" | "isComplete">;
  readonly query: RowQuery;
}

function* selection(
  file: DataFile,
  { plan, query }: SelectedBy,
  deps: SelectionDeps,
): SoonSteps<FileSelection> {
  const whole = filePart(file, deps.path(file));
  if (query.kind === "all") return { whole, parts: [whole], rowGroupsPruned: 0 };
  const rowSet = yield* soon(
    deps.indexes.rows(file, query, { schema: plan.schema, store: deps.store }),
  );
  if (rowSet.kind === "all") return { whole, parts: [whole], rowGroupsPruned: 0 };
  if (rowSet.kind === "none") return { whole, parts: [], rowGroupsPruned: whole.rowGroups };
  try {
    const groups = regularGroups(file) ?? (yield* soon(deps.footer(file))).rowGroups;
    const evaluation = evaluationOf(query, (name) => hasColumn(plan, file, name));
    return { whole, ...selectedParts({ whole, groups, evaluation }, rowSet) };
  } catch {
    return { whole, parts: [whole], rowGroupsPruned: 0 };
  }
}

/** Whether a column has the values of an attribute in all rows of a file. */
function hasColumn(
  { stored, isComplete }: Pick<TablePlan, "stored" | "isComplete">,
  file: DataFile,
  attribute: string,
): boolean {
  return sourcesOf(stored, attribute).some((column) => isComplete(file, column));
}

/**
 * How DuckDB evaluates a query; what is dear within a query makes all of it dear. `hasColumn` tells
 * of an attribute whether it is looked up in a column, and not in JSON.
 */
function evaluationOf(query: RowQuery, hasColumn: (attribute: string) => boolean): Evaluation {
  switch (query.kind) {
    case "and":
    case "or": {
      const parts = new Set(query.of.map((one) => evaluationOf(one, hasColumn)));
      return parts.has("dear") ? "dear" : parts.has("quick") ? "quick" : "while decoding";
    }
    case "substring":
      return query.ignoreCase ? "dear" : "quick";
    case "attribute":
      return hasColumn(query.name) ? "while decoding" : "dear";
    case "terms":
      return "dear";
    case "equals":
    case "all":
      return "while decoding";
  }
}

/** What DuckDB takes to open a file, of 1,000 rows for example. */
const FILE_MS = 0.4;

/** How long scanning some parts takes, by estimate. */
export function partsMs(parts: readonly ScanPart[], { projected }: TablePlan): number {
  return parts.reduce((sum, part) => {
    const bytes = partBytes(part, projected);
    return sum + scanMs({ bytes, rows: partRows(part) });
  }, FILE_MS * countFiles(parts));
}

/**
 * The row groups of a file of ours, which follow from its number of rows. Undefined where the file
 * has another number of row groups.
 */
export function regularGroups({ rows, splitOffsets }: DataFile): RowGroupRows[] | undefined {
  const layouts = [rowGroupStarts(rows), evenStarts(rows, ROW_GROUP_ROWS)];
  const starts = layouts.find(({ length }) => length === splitOffsets.length);
  return starts?.map((firstRow, group) => ({
    firstRow,
    rows: (starts[group + 1] ?? rows) - firstRow,
  }));
}

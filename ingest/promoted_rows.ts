/**
 * Rows with the promoted columns of their table, so that statements that name one find those in the
 * WAL, too. A column holds what the row's `attributes` say where that fits; they keep it, and
 * nothing is refused: the drain does the same.
 */

import type { ColumnBatch } from "../shared/columns/batch.ts";
import type { TableShape } from "../shared/schema/table_shape.ts";
import { fitTo } from "../shared/tables/fit_schema.ts";
import { liftPromoted } from "../shared/tables/lift_promoted.ts";

/** `batch` itself where it is not of `shape`, or that has no such columns. */
export function promotedRows(batch: ColumnBatch, shape: TableShape | undefined): ColumnBatch {
  const table = shape?.withPromoted;
  if (table === undefined || batch.schema !== shape?.schema) return batch;
  return liftPromoted(table)(fitTo(table, batch.schema.columns)(batch));
}

/** The plan of rows that are in no stored table: a call's answer, or what other servers sent. */

import { ALL_TIME } from "../../iceberg/types.ts";
import type { TablePlan } from "./plan.ts";

/** Plans a table whose rows are all in the files of `delta`, in no order. */
export function rowsPlan(
  rows: Pick<TablePlan, "name" | "ident" | "schema" | "delta" | "projected">,
): TablePlan {
  return {
    ...rows,
    stored: rows.schema,
    made: new Map(),
    isComplete: () => false,
    stemmed: new Set(),
    version: undefined,
    order: { id: 0, refusal: "no_sort_order", isImplicit: false },
    range: ALL_TIME,
    committed: { kind: "none" },
    considered: 0,
    files: [],
    parts: [],
    ordered: false,
    pruned: undefined,
    scans: 1,
  };
}

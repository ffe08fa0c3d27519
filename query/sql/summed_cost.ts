/** What several statements of one request cost together. */

import { complexityOf } from "../../shared/engine/cost/cost.ts";
import type { Cost } from "../../shared/engine/types.ts";

/** The cost of both; files are considered once. */
export function addCosts(a: Cost, b: Cost): Cost {
  const bytes = a.estimated_bytes_scanned + b.estimated_bytes_scanned;
  const rows = a.estimated_rows_processed + b.estimated_rows_processed;
  return {
    files_to_scan: a.files_to_scan + b.files_to_scan,
    files_considered: Math.max(a.files_considered, b.files_considered),
    estimated_bytes_scanned: bytes,
    estimated_rows_processed: rows,
    estimated_runtime_seconds: a.estimated_runtime_seconds + b.estimated_runtime_seconds,
    complexity_class: complexityOf(bytes, rows),
    exact: a.exact && b.exact,
    warnings: [...new Set([...a.warnings, ...b.warnings])],
  };
}

/** What several statements of one request cost together. */

import { complexityOf } from "../../shared/engine/cost/cost.ts";
import type { Cost, Stats } from "../../shared/engine/types.ts";

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

/** What both did, without what is of one scan. The first one's path stands for both. */
export function addStats({ scan: _, ...a }: Stats, b: Stats): Stats {
  return {
    ...a,
    rows_scanned: a.rows_scanned + b.rows_scanned,
    bytes_scanned: a.bytes_scanned + b.bytes_scanned,
    spill_bytes: a.spill_bytes + b.spill_bytes,
    phases: {
      plan_micros: a.phases.plan_micros + b.phases.plan_micros,
      buffer_delta_micros: a.phases.buffer_delta_micros + b.phases.buffer_delta_micros,
      collect_micros: a.phases.collect_micros + b.phases.collect_micros,
      render_micros: a.phases.render_micros + b.phases.render_micros,
    },
  };
}

/**
 * How often a statement reads each of its tables, for its price: once wherever it names it. What
 * reads a table again without naming it, recursion or a WITH that is not to be materialized, is
 * counted when it has run (`shared/engine/duckdb/rows_breaker.ts`).
 */

import type { TableReference } from "../gate/gate.ts";

/** By table name. */
export function tableScans(references: readonly TableReference[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { table } of references) counts.set(table, (counts.get(table) ?? 0) + 1);
  return counts;
}

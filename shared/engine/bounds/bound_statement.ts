/**
 * The phase that reads a statement's conditions: which times it can need of each table, and which
 * rows.
 */

import type { Gated } from "../gate/gate_statement.ts";
import { type ExactFilter, exactFilter } from "../pruning/exact_filter.ts";
import type { Predicate } from "../pruning/predicate.ts";
import { tablePredicates } from "../pruning/table_predicates.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import { type TimeBounds, timeBounds } from "./time_bounds.ts";

/** A gated statement with what its conditions tell of the rows that it can need. */
export interface Bounded extends Gated {
  readonly bounds: TimeBounds;
  /** Predicates by table name; a table that is not among them has no condition. */
  readonly predicates: ReadonlyMap<string, Predicate>;
  /** What the conditions are over one table, if columns tell them; rows also lie in its range. */
  readonly filter: ExactFilter | undefined;
}

/** Reads the conditions, and asks DuckDB for the values of constants. */
export async function boundStatement(
  gated: Gated,
  { cached }: { readonly cached: CachedConnection },
): Promise<Bounded> {
  const { statement: { root }, references } = gated;
  const bounds = await timeBounds(cached, root, references);
  const predicates = await tablePredicates(cached, root, references);
  const filter = bounds.complete ? exactFilter(root, references) : undefined;
  return { ...gated, bounds, predicates, filter };
}

/**
 * The phases between a statement's scheduler slot and its first row: what is read is narrowed by a
 * trial, divided into steps, and brought to where DuckDB finds it.
 */

import { planRelations } from "../bind/statement_relations.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { likelyJsonRows } from "../json_rows/json_rows_of.ts";
import { stepsOf } from "../order/ordered_bands.ts";
import type { Plan } from "../plan/plan.ts";
import type { Prepared } from "../prepared.ts";
import { narrowNearest } from "../pruning/narrow_nearest.ts";

/** What a statement runs over, one plan after the other, until it has `rowsMax` rows. */
export interface RunSteps {
  /** All that it may read. */
  readonly whole: Plan;
  readonly first: Plan;
  /** `first` as it is scanned: its rows are there. */
  readonly brought: Plan;
  readonly later: readonly Plan[];
  readonly rowsMax: number;
}

/** What is read first is there. Errors: the store's, the deadline's, DuckDB's. */
export async function firstStep(
  prepared: Prepared,
  connection: EngineConnection,
): Promise<RunSteps> {
  const narrowed = await triedPlan(prepared, connection);
  const { plans: [first, ...later], rowsMax } = stepsOf(narrowed, bandsOf(prepared));
  const brought = await broughtPlan(prepared, first);
  return { whole: later.length === 0 ? brought : narrowed, first, brought, later, rowsMax };
}

/** The statement's plan, narrowed by asking the connection that will run it. */
async function triedPlan(prepared: Prepared, connection: EngineConnection): Promise<Plan> {
  const { plan, path, statement } = prepared;
  if (path.kind !== "scan" || path.trial === undefined) return plan;
  const relations = (part: Plan) => planRelations(prepared, part);
  return await narrowNearest(plan, path.trial, { statement, relations, connection });
}

function bandsOf({ path }: Prepared) {
  return path.kind === "scan" ? path.bands : undefined;
}

/**
 * The plan to scan. Few rows that are likely to be written from their pages need nothing else of
 * their files. `StatementRun` brings such a plan if DuckDB is to write them after all.
 */
export async function broughtPlan(prepared: Prepared, plan: Plan): Promise<Plan> {
  return isReadByPages(prepared, plan) ? plan : await prepared.data.bring(plan);
}

/** Whether a plan that was to be brought was left as it is. */
export function isReadByPages(prepared: Prepared, plan: Plan): boolean {
  return likelyJsonRows(prepared, plan) === "few";
}

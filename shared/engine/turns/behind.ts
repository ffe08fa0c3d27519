/**
 * Background work: work of the engine's own that no statement waits for. It runs in a slot for
 * expensive statements, because it takes all cores for a while.
 */

import { Deadline } from "./deadline.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { type Databases, Seat } from "./seat.ts";
import type { Turns } from "./turns.ts";

/** The place of this work beside the tenants that wait for slots. */
const LINE = "\u0000behind";
const WORK_MS_MAX = 600_000;

/** Where background work runs, and what ends it. */
export interface Behind {
  readonly databases: Databases;
  readonly turns: Turns;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` in a slot. Errors: those of `work`; of waiting for a slot; the reason of `signal`.
 */
export async function behind<T>(
  work: (connection: EngineConnection) => Promise<T>,
  { databases, turns, signal }: Behind,
): Promise<T> {
  using deadline = new Deadline(WORK_MS_MAX, signal);
  await using seat = new Seat({ databases, turns, deadline, tenant: LINE, waitMs: undefined });
  const result = await work(await seat.take("dear"));
  deadline.check();
  return result;
}

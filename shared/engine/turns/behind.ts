/**
 * Work of the engine's own that no statement waits for: in a turn among expensive statements, as
 * any that takes all cores for a while, but for what has to be done where cheap ones run.
 */

import { Deadline } from "./deadline.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { type Databases, Seat } from "./seat.ts";
import type { TurnKind, Turns } from "./turns.ts";

/** Beside the tenants that wait for turns. */
const LINE = "\u0000behind";
const WORK_MS_MAX = 600_000;

export interface Behind {
  readonly databases: Databases;
  readonly turns: Turns;
  /** Default: `dear`. */
  readonly turn?: TurnKind;
  readonly signal: AbortSignal;
}

/** Errors: those of `work`; of waiting for a turn; the reason of `signal`. */
export async function behind<T>(
  work: (connection: EngineConnection) => Promise<T>,
  { databases, turns, turn = "dear", signal }: Behind,
): Promise<T> {
  using deadline = new Deadline(WORK_MS_MAX, signal);
  await using seat = new Seat({ databases, turns, deadline, tenant: LINE, waitMs: undefined });
  const result = await work(await seat.take(turn));
  deadline.check();
  return result;
}

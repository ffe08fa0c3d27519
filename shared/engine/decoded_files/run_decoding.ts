/** How copies are written: in a turn among dear statements, as any that takes all cores for a while. */

import { Deadline } from "../deadline.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { type Databases, Seat } from "../seat.ts";
import type { Turns } from "../turns.ts";

/** Beside the tenants that wait for turns. */
const LINE = "\u0000decoding";
const DECODING_MS_MAX = 600_000;
/** Long ago: the SQL engine keeps nothing of a file that was changed within the last seconds. */
const MODIFIED_MS = 1_000_000_000_000;

/** Errors: the SQL engine's; those of waiting for a turn; the reason of `signal`. */
export async function runDecoding(
  sql: string,
  { databases, turns, signal }: {
    readonly databases: Databases;
    readonly turns: Turns;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  using deadline = new Deadline(DECODING_MS_MAX, signal);
  await using seat = new Seat({ databases, turns, deadline, tenant: LINE, waitMs: undefined });
  const connection = await seat.take("dear");
  await connection.texts(sql);
  deadline.check();
}

export async function settledSize(
  files: Pick<FileSystem, "setModified" | "stat">,
  path: string,
): Promise<number> {
  await files.setModified(path, MODIFIED_MS);
  return (await files.stat(path)).size;
}

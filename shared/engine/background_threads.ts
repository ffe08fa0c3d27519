/**
 * Statements that are run by threads of the database alone. By default a call of the binding takes part in the work, on whatever
 * thread the runtime has it, and the database's own threads are created by whichever of them comes first. Here the thread
 * that asks for it creates them, so that they inherit its priority, and statements wait for them.
 */

import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBResult } from "@duckdb/node-api";
import type * as binding from "@duckdb/node-bindings";

export type PendingBinding = Pick<
  typeof binding,
  "pending_execute_check_state" | "pending_error" | "PendingState"
>;

/** How often a statement is asked whether it has rows, in milliseconds: a hundredth of what a dear one takes at least. */
const POLL_MS = 1;

/**
 * Has the calling thread create `count` threads. The database must have none so far, and no other connection in use. A count
 * that was set takes effect as the next statement of its connection begins: all of it happens in calls that do not leave
 * this thread.
 */
export async function createThreads(connection: DuckDBConnection, count: number): Promise<void> {
  const statements = [
    "SET external_threads = 0",
    `SET threads = ${count}`,
    "SELECT 1",
  ];
  const prepared = await Promise.all(statements.map((sql) => connection.prepare(sql)));
  for (const statement of prepared) {
    const pending = statement.start();
    // 1: there is more to do.
    while (Number(pending.runTask()) === 1);
  }
  for (const statement of prepared) statement.destroySync();
}

/** As `prepared.stream()`. */
export async function streamInBackground(
  { pending_execute_check_state, pending_error, PendingState }: PendingBinding,
  prepared: DuckDBPreparedStatement,
): Promise<DuckDBResult> {
  const pending = prepared.startStream();
  // The class runs tasks on the calling thread, or none: what it stands for can also be asked.
  const { pending_result } = pending as unknown as {
    readonly pending_result: binding.PendingResult;
  };
  for (;;) {
    const state = pending_execute_check_state(pending_result);
    const isUnderWay = state === PendingState.RESULT_NOT_READY ||
      state === PendingState.NO_TASKS_AVAILABLE;
    // One that has ended well is in the same state as one that failed; only the latter says why.
    const failure = state === PendingState.ERROR ? pending_error(pending_result) : "";
    if (failure !== "") throw new Error(failure);
    if (!isUnderWay) return await pending.getResult();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * Carries delete tasks out as they come: looks every few seconds, takes them one after another,
 * oldest first. Any number of loops may run on one catalog. One task's failure is its own; the loop
 * ends only when it is stopped.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError } from "../base/errors.ts";
import { MS_PER_DAY } from "../base/time.ts";
import type { DeleteTask } from "../catalog/delete_ledger.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { type DeleteOutcome, type DeleteTaskDeps, runDeleteTask } from "./delete_task.ts";

export interface DeleteLoop extends AsyncDisposable {
  /** Gives the task under way back. Idempotent. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 5_000;
/** Between looks while one fails, and while this process cannot load DuckDB. */
const FAILED_INTERVAL_MS = 30_000;
const FORGET_INTERVAL_MS = 3_600_000;
const LOOK = "look";
/** Records of ended tasks are kept for a year. */
const KEPT_MS = 366 * MS_PER_DAY;
/** Tasks that one look takes up. */
const TASKS_MAX = 100;

/** Starts carrying out delete tasks; it ends when it is stopped. */
export function startDeleteLoop(
  deps: DeleteTaskDeps,
  options: { readonly intervalMs?: number } = {},
): DeleteLoop {
  const { intervalMs = INTERVAL_MS } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const failureLog = new FailureLog({
    clock: deps.clock,
    log: getLogger(["svc", "delete"]),
    over: "delete tasks are looked after again",
  });
  const ended = (async () => {
    let forgetAtMs = 0;
    while (!signal.aborted) {
      let pauseMs = intervalMs;
      try {
        const outcomes = await sweepDeleteTasks(deps, signal);
        if (outcomes.size === 0) await deps.rest?.();
        if (deps.clock.monotonicMs() >= forgetAtMs) {
          await deps.ledger.forgetEnded(KEPT_MS);
          forgetAtMs = deps.clock.monotonicMs() + FORGET_INTERVAL_MS;
        }
        failureLog.worked(LOOK);
      } catch (error) {
        if (signal.aborted) break;
        pauseMs = Math.max(intervalMs, FAILED_INTERVAL_MS);
        tellFailure(error, failureLog);
      }
      await deps.clock.sleep(pauseMs, { signal }).catch(() => {});
    }
  })();
  const stop = () => {
    stopping.abort(new Error("stopped"));
    return ended;
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

function tellFailure(error: unknown, failureLog: FailureLog): void {
  const isEngine = isOperatingError(error) && error.reason === "engine_not_loaded";
  const what = isEngine
    ? "carry delete tasks out here, run svc compactor, or svc delete-sweep --apply"
    : "look after delete tasks";
  failureLog.failed(LOOK, what, error);
}

/**
 * Each task that can be claimed, once. Errors: the ledger's; `engine_not_loaded`; the signal's
 * reason.
 */
export async function sweepDeleteTasks(
  deps: DeleteTaskDeps,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, DeleteOutcome>> {
  const outcomes = new Map<string, DeleteOutcome>();
  for (const task of await deps.ledger.claimable(TASKS_MAX)) {
    signal?.throwIfAborted();
    outcomes.set(task.taskId, await runOne(deps, task, signal));
  }
  deps.observer?.unfinished?.(await deps.ledger.unfinished());
  return outcomes;
}

async function runOne(
  deps: DeleteTaskDeps,
  task: DeleteTask,
  signal: AbortSignal | undefined,
): Promise<DeleteOutcome> {
  try {
    return await runDeleteTask(deps, task, signal);
  } catch (error) {
    signal?.throwIfAborted();
    const isEngine = isOperatingError(error) && error.reason === "engine_not_loaded";
    if (isEngine || !isOperatingError(error)) throw error;
    // The WAL or the catalog failed for this table: others may go on.
    deps.observer?.retried?.(task, error);
    return "retried";
  }
}

/**
 * Carries delete tasks out as they come: looks every second, takes them one after another. One that
 * cannot begin is looked at again after five seconds, since that asks the WAL and its mirror.
 * Tenants take turns, then the tables of each, oldest task first. So no tenant waits for all that
 * another has asked for. Any number of loops may run on one catalog. One task's failure is its own;
 * the loop ends only when it is stopped.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError } from "../base/errors.ts";
import { MS_PER_DAY } from "../base/time.ts";
import type { DeleteTask } from "../catalog/delete_ledger.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { TenantTurns, type TurnTaker } from "../tenant/tenant_turns.ts";
import { type DeleteOutcome, type DeleteTaskDeps, runDeleteTask } from "./delete_task.ts";

export interface DeleteLoop extends AsyncDisposable {
  /** Gives the task under way back. Idempotent. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 1_000;
/** Looks that are between two at a task that waits, and at how many there are. */
const WAIT_LOOKS = 5;
/** Looks without a task after which DuckDB is closed. */
const REST_LOOKS = 5;
/** Between looks while one fails, and while this process cannot load DuckDB. */
const FAILED_INTERVAL_MS = 30_000;
const FORGET_INTERVAL_MS = 3_600_000;
const LOOK = "look";
/** Records of ended tasks are kept for a year. */
const KEPT_MS = 366 * MS_PER_DAY;
/** Tasks that one look takes up. */
const TASKS_MAX = 100;
/** After so long, who is next is decided anew: others may have asked by then. */
const ROUND_MS_MAX = 1_000;

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
  const rounds = new DeleteRounds(deps, { waitMs: WAIT_LOOKS * intervalMs });
  const ended = (async () => {
    let forgetAtMs = 0;
    let idleLooks = 0;
    while (!signal.aborted) {
      let pauseMs = intervalMs;
      try {
        const outcomes = await rounds.next(signal);
        idleLooks = rounds.listed === 0 ? idleLooks + 1 : 0;
        if (idleLooks >= REST_LOOKS) await deps.rest?.();
        if (outcomes.size < rounds.due && hasMoved(outcomes)) pauseMs = 0;
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
 * The tasks that can be claimed, each once. Errors: the ledger's; `engine_not_loaded`; the signal's
 * reason.
 */
export async function sweepDeleteTasks(
  deps: DeleteTaskDeps,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, DeleteOutcome>> {
  return await new DeleteRounds(deps, { msMax: Infinity, waitMs: 0 }).next(signal);
}

/** Whether a task is nearer to its end. */
function hasMoved(outcomes: ReadonlyMap<string, DeleteOutcome>): boolean {
  return [...outcomes.values()].some((outcome) => outcome !== "waits" && outcome !== "taken");
}

interface WaitingTask extends TurnTaker {
  readonly task: DeleteTask;
  /** Milliseconds of the monotonic clock. */
  notBeforeMs: number;
}

/** Looks for tasks, again and again, that remember who had its turn. */
class DeleteRounds {
  readonly #deps: DeleteTaskDeps;
  readonly #msMax: number;
  readonly #waitMs: number;
  readonly #tenants = new TenantTurns<WaitingTask>(({ task }) => task.ident.namespace);
  #waiting = new Map<string, WaitingTask>();
  #countAtMs = -Infinity;
  /** How many tasks were to be looked at in the last round. */
  due = 0;

  /** `msMax`: how long a round may take. `waitMs`: between two looks at a task that waits. */
  constructor(
    deps: DeleteTaskDeps,
    { msMax = ROUND_MS_MAX, waitMs }: { readonly msMax?: number; readonly waitMs: number },
  ) {
    this.#deps = deps;
    this.#msMax = msMax;
    this.#waitMs = waitMs;
  }

  /** How many tasks the last round had found. */
  get listed(): number {
    return this.#waiting.size;
  }

  /** The tasks that can be claimed, or as many as a round has time for: at least one. */
  async next(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, DeleteOutcome>> {
    const { ledger, clock, observer } = this.#deps;
    const tasks = await ledger.claimable(TASKS_MAX);
    this.#waiting = new Map(tasks.map((task) => {
      const { turnMs, notBeforeMs } = this.#waiting.get(task.taskId) ?? NEVER_LOOKED_AT;
      return [task.taskId, { task, turnMs, notBeforeMs }];
    }));
    const outcomes = new Map<string, DeleteOutcome>();
    const startMs = clock.monotonicMs();
    const due = [...this.#waiting.values()].filter(({ notBeforeMs }) => notBeforeMs <= startMs);
    this.due = due.length;
    for (const waiting of this.#tenants.inOrder(due)) {
      signal?.throwIfAborted();
      if (clock.monotonicMs() - startMs >= this.#msMax) break;
      this.#tenants.begin(waiting, clock.monotonicMs());
      const outcome = await runOne(this.#deps, waiting.task, signal);
      if (!ENDED.has(outcome)) waiting.notBeforeMs = clock.monotonicMs() + this.#waitMs;
      outcomes.set(waiting.task.taskId, outcome);
    }
    if (outcomes.size > 0 || clock.monotonicMs() >= this.#countAtMs) {
      observer?.unfinished?.(await ledger.unfinished());
      this.#countAtMs = clock.monotonicMs() + this.#waitMs;
    }
    return outcomes;
  }
}

/** After these the task is no other look's. */
const ENDED: ReadonlySet<DeleteOutcome> = new Set(["done", "failed", "lost"]);
const NEVER_LOOKED_AT = { turnMs: 0, notBeforeMs: -Infinity };

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

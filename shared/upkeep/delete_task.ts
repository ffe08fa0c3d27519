/**
 * Carries one delete task out. It claims the task, finds its rows and writes what is left of their
 * files. It commits all of that at once, together with the task's end in the ledger.
 *
 * ```
 * WAL drained? ─► CLAIM ─► match rows, file by file ─► write the rest ─► COMMIT under claim ═► done
 *                   └─ renewed each two seconds   ─┘      ▲                  │
 *                          a file was merged away: match what came of it ◄───┘
 * ```
 *
 * A process that ends before the commit leaves files that no snapshot names and a claim that runs
 * out; one that ends after it leaves nothing to do. An executor that is paused past its lease is
 * refused by the commit itself.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf, OperatingError } from "../base/errors.ts";
import {
  type DeleteLedger,
  type DeleteProgress,
  type DeleteTask,
  NO_PROGRESS,
} from "../catalog/delete_ledger.ts";
import { withSidecars } from "../derived/sidecar.ts";
import type { RowMatcher } from "../engine/predicate/row_matcher.ts";
import { commitRewrite } from "../iceberg/commit_rewrite.ts";
import type { CommitDeps } from "../iceberg/commit_table.ts";
import type { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import type { DataFile, NewDataFile } from "../iceberg/types.ts";
import type { FileSystem } from "../os/file_system.ts";
import { uuidV4 } from "../os/random.ts";
import type { DataFileWriterDeps } from "../tables/data_file_writer.ts";
import { applyAllDeletes } from "./apply_deletes.ts";
import { type DeletePlan, DeletePlanner, isFinal } from "./delete_plan.ts";
import { deleteRows } from "./delete_rows.ts";
import { areRowsCommitted, type DeleteWaitDeps } from "./delete_wait.ts";

export interface DeleteTaskDeps extends CommitDeps, DataFileWriterDeps, DeleteWaitDeps {
  readonly catalog: CommitDeps["catalog"];
  readonly ledger: DeleteLedger;
  readonly reader: IcebergReader;
  /** Opened with the first task. Errors: `unavailable` (`engine_not_loaded`). */
  readonly matcher: () => Promise<RowMatcher>;
  /** Closes the matcher, whose DuckDB takes 100 MB, until a task needs it again. */
  readonly rest?: () => Promise<void>;
  /** For copies, in the folder of `scratchDir`, of files that are not on this machine. */
  readonly files: FileSystem;
  readonly scratchDir: () => Promise<string>;
  /** The claimant, for people to read. */
  readonly claimant: string;
  readonly policy?: Partial<DeletePolicy>;
  readonly observer?: DeleteObserver;
}

export interface DeletePolicy {
  readonly leaseMs: number;
  /** A task that failed this often has failed for good. */
  readonly attemptsMax: number;
  /** Between one attempt and the next; it doubles. */
  readonly retryMs: number;
}

const DELETE_POLICY_DEFAULT: DeletePolicy = {
  leaseMs: 60_000,
  attemptsMax: 5,
  retryMs: 5_000,
};

/** Is told how attempts end. */
export interface DeleteObserver {
  done?(task: DeleteTask, report: DeleteReport): void;
  /** For good. */
  failed?(task: DeleteTask, error: unknown): void;
  /** Another attempt follows. */
  retried?(task: DeleteTask, error: unknown): void;
  /** Tasks that have not ended. */
  unfinished?(counts: Readonly<Record<"pending" | "running", number>>): void;
}

/** What a delete task did. */
export interface DeleteReport {
  readonly rowsDeleted: number;
  readonly filesRewritten: number;
  readonly secs: number;
}

/**
 * `waits`: rows of it are still in the WAL. `taken`: somebody else has it, or another task of its
 * table, or it has ended. `lost`: this executor was stopped for longer than its lease. `retried`:
 * the attempt failed, the next one follows.
 */
export type DeleteOutcome = "done" | "failed" | "retried" | "waits" | "taken" | "lost";

const RENEWALS_PER_LEASE = 3;
/** How old the progress is at most that a record shows. */
const PROGRESS_MS = 2_000;
const RETRY_MS_MAX = 300_000;
/** How often a plan is made again because others rewrote its files first. */
const ROUNDS_MAX = 20;

/**
 * One attempt at a task. Errors: the ledger's and the WAL's before the claim; `engine_not_loaded`;
 * the signal's reason, after the task was given back.
 */
export async function runDeleteTask(
  deps: DeleteTaskDeps,
  task: DeleteTask,
  signal?: AbortSignal,
): Promise<DeleteOutcome> {
  if (!await areRowsCommitted(deps, task)) return "waits";
  const matcher = await deps.matcher();
  const policy = { ...DELETE_POLICY_DEFAULT, ...deps.policy };
  const token = uuidV4(deps.random);
  const claimed = await deps.ledger.claim({
    taskId: task.taskId,
    claimant: deps.claimant,
    token,
    leaseMs: policy.leaseMs,
    attemptsMax: policy.attemptsMax,
  });
  if (claimed === undefined) return "taken";
  const held = new HeldTask(deps, { token, leaseMs: policy.leaseMs });
  held.keep(signal);
  return await new Attempt({ ...deps, matcher, policy }, { task: claimed, held }).run(signal);
}

interface AttemptDeps extends Omit<DeleteTaskDeps, "matcher" | "policy"> {
  readonly matcher: RowMatcher;
  readonly policy: DeletePolicy;
}

/** What is left of a file. */
interface RewrittenFile {
  readonly file: DataFile;
  readonly rowsDeleted: number;
  readonly rest: readonly NewDataFile[];
}

class Attempt {
  readonly #deps: AttemptDeps;
  readonly #task: DeleteTask;
  readonly #held: HeldTask;
  readonly #startMs: number;
  /** By key. */
  readonly #rewritten = new Map<string, RewrittenFile>();

  constructor(
    deps: AttemptDeps,
    { task, held }: { readonly task: DeleteTask; readonly held: HeldTask },
  ) {
    this.#deps = deps;
    this.#task = task;
    this.#held = held;
    this.#startMs = deps.clock.monotonicMs();
  }

  async run(signal: AbortSignal | undefined): Promise<DeleteOutcome> {
    const { lost } = this.#held;
    const either = signal === undefined ? lost : AbortSignal.any([lost, signal]);
    try {
      const report = await this.#carryOut(either);
      await this.#held.end();
      if (report === undefined) return "lost";
      this.#deps.observer?.done?.(this.#task, report);
      return "done";
    } catch (error) {
      await this.#held.end();
      // Whether it was committed is not known: then the table may name the new files.
      if (!isOperatingError(error) || error.reason !== "commit_unknown") await this.#discard();
      if (lost.aborted) return "lost";
      if (signal?.aborted === true) {
        await this.#giveBack();
        throw signal.reason;
      }
      return await this.#endWith(error);
    }
  }

  /** undefined: the claim is lost. */
  async #carryOut(signal: AbortSignal): Promise<DeleteReport | undefined> {
    const planner = new DeletePlanner(this.#deps, this.#task);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await applyAllDeletes(this.#deps, this.#task.ident, signal);
      const plan = await planner.plan({
        signal,
        onProgress: (progress) => this.#held.progress = progress,
      });
      if (plan === undefined || plan.files.length === 0) {
        await this.#discard();
        return await this.#deps.ledger.finishEmpty(this.#held.token)
          ? this.#report({ rowsDeleted: 0, filesRewritten: 0 })
          : undefined;
      }
      await this.#rewrite(plan, signal);
      const committed = await this.#commit(plan);
      if (committed !== undefined) return committed;
      // Others rewrote a file first, or the claim is lost.
      if (!await this.#held.renew()) {
        await this.#discard();
        return undefined;
      }
    }
    throw new OperatingError(
      "unavailable",
      `Cannot delete from index ${this.#task.ident.name}: merges rewrote its files first ` +
        `${ROUNDS_MAX} times`,
      { reason: "commit_contention" },
    );
  }

  /**
   * Writes what is left of the plan's files, and forgets what was written of files that are gone.
   */
  async #rewrite(plan: DeletePlan, signal: AbortSignal): Promise<void> {
    const { target, files, filesTotal, rowsMatched } = plan;
    const live = new Set(files.map(({ file }) => file.key));
    await this.#discard((key) => !live.has(key));
    const clean = filesTotal - files.length;
    for (const [at, { file, gone }] of files.entries()) {
      signal.throwIfAborted();
      this.#held.progress = { filesTotal, filesDone: clean + at, rowsMatched };
      if (this.#rewritten.has(file.key)) continue;
      const rest = await deleteRows(this.#deps, { table: target.table, file, gone }, {
        text: target.text,
        signal,
      });
      this.#rewritten.set(file.key, { file, rowsDeleted: gone.count, rest });
    }
    this.#held.progress = { filesTotal, filesDone: filesTotal, rowsMatched };
  }

  /** undefined: nothing was committed. */
  async #commit({ target }: DeletePlan): Promise<DeleteReport | undefined> {
    const rewritten = [...this.#rewritten.values()];
    const counts = {
      rowsDeleted: rewritten.reduce((sum, { rowsDeleted }) => sum + rowsDeleted, 0),
      filesRewritten: rewritten.length,
    };
    const { taskId, ident } = this.#task;
    // The commit point of the task: the rows are gone and it is `done`, or neither.
    const { outcome } = await commitRewrite(this.#deps, {
      ident,
      tableUuid: target.table.uuid,
      kind: "delete",
      replaced: rewritten.map(({ file }) => file),
      files: rewritten.flatMap(({ rest }) => rest),
      deletes: { taskId, token: this.#held.token, ...counts },
      summary: { "svc.delete-task": taskId },
    });
    return outcome === "committed" ? this.#report(counts) : undefined;
  }

  #report(counts: Omit<DeleteReport, "secs">): DeleteReport {
    return { ...counts, secs: (this.#deps.clock.monotonicMs() - this.#startMs) / 1_000 };
  }

  /** Removes what was written of files that `isUnneeded` names; default all. */
  async #discard(isUnneeded: (key: string) => boolean = () => true): Promise<void> {
    for (const [key, { rest }] of this.#rewritten) {
      if (!isUnneeded(key)) continue;
      this.#rewritten.delete(key);
      await removeQuietly(this.#deps.store, withSidecars(rest.map((file) => file.key)));
    }
  }

  async #endWith(error: unknown): Promise<DeleteOutcome> {
    const { ledger, policy, observer } = this.#deps;
    const { token } = this.#held;
    if (isFinal(error)) {
      if (!await ledger.fail(token, messageOf(error))) return "lost";
      observer?.failed?.(this.#task, error);
      return "failed";
    }
    const { attempts } = this.#task;
    const { attemptsMax, retryMs } = policy;
    const delayMs = Math.min(RETRY_MS_MAX, retryMs * 2 ** (attempts - 1));
    const released = await ledger.release(token, { error: messageOf(error), delayMs, attemptsMax });
    if (!released) return "lost";
    const isLast = attempts >= attemptsMax;
    if (isLast) observer?.failed?.(this.#task, error);
    else observer?.retried?.(this.#task, error);
    return isLast ? "failed" : "retried";
  }

  /** The attempt was stopped from outside, and does not count. */
  async #giveBack(): Promise<void> {
    const { attemptsMax } = this.#deps.policy;
    await this.#deps.ledger.release(this.#held.token, { delayMs: 0, attemptsMax }).catch((error) =>
      getLogger(["svc", "delete"]).warning(
        "cannot give delete task {task} back, it is free when its lease runs out: {error}",
        { task: this.#task.taskId, error: messageOf(error) },
      )
    );
  }
}

/** A claim that is renewed, with the progress, until it ends. */
class HeldTask {
  readonly token: string;
  progress: DeleteProgress = NO_PROGRESS;
  readonly #deps: Pick<DeleteTaskDeps, "ledger" | "clock">;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #renewing: Promise<void> | undefined;

  constructor(
    deps: Pick<DeleteTaskDeps, "ledger" | "clock">,
    { token, leaseMs }: { readonly token: string; readonly leaseMs: number },
  ) {
    this.#deps = deps;
    this.token = token;
    this.#leaseMs = leaseMs;
  }

  /** Aborted when another may have the task. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Renews from now on, until the claim ends or `signal` aborts: work that is abandoned shall lose
   * it.
   */
  keep(signal: AbortSignal | undefined): void {
    const until = signal === undefined
      ? this.#ended.signal
      : AbortSignal.any([signal, this.#ended.signal]);
    this.#renewing = this.#keep(until);
  }

  /** False: the claim is lost. Errors: the ledger's. */
  async renew(): Promise<boolean> {
    const { progress } = this;
    const isHeld = await this.#deps.ledger.renew(this.token, { leaseMs: this.#leaseMs, progress });
    if (!isHeld) this.#lost.abort(new Error("the claim on the delete task ran out"));
    return isHeld;
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
  }

  async #keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = Math.min(PROGRESS_MS, this.#leaseMs / RENEWALS_PER_LEASE);
      await this.#deps.clock.sleep(pauseMs, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        if (!await this.renew()) return;
      } catch (error) {
        getLogger(["svc", "delete"]).warning("cannot renew the claim of a delete task: {error}", {
          error: messageOf(error),
        });
      }
    }
  }
}

/**
 * The ledger of delete tasks: what is to be deleted from which table, who works on it now, and what
 * came of it. See docs/api/query.md#delete-tasks.
 *
 * ```
 * submit ─► pending ─► running ─► done      with the table's commit, in one transaction
 *              ▲          │  └──► failed    it cannot succeed, or its attempts are used up
 *              └─ an attempt ended without a commit, or its lease ran out
 * ```
 *
 * A claim is a lease under a token of its own, by the catalog's clock; it begins with `running`, in
 * one transaction. A lease that ran out is free: the record still says `running` until the next
 * claim. An executor that was paused past its lease can neither commit nor tell anything of the
 * task. `done` and `failed` are for ever.
 */

import type { TableIdent } from "../tenant/tenant.ts";

export type DeleteTaskStatus = "pending" | "running" | "done" | "failed";

/** What somebody asked for. */
export interface NewDeleteTask {
  readonly taskId: string;
  readonly ident: TableIdent;
  /** The incarnation that it is about; undefined when no rows had been committed yet. */
  readonly tableUuid: string | undefined;
  /** How often an index of that name had been dropped: `index_catalog.ts`. */
  readonly epoch: number;
  /** A boolean expression over the table's columns, checked. */
  readonly predicate: string;
  /** Unix nanoseconds, inclusive; undefined is open. */
  readonly startNs: bigint | undefined;
  /** Unix nanoseconds, exclusive; undefined is open. */
  readonly endNs: bigint | undefined;
}

/** A delete task with its state. Times are Unix milliseconds. */
export interface DeleteTask extends NewDeleteTask {
  readonly status: DeleteTaskStatus;
  /** Unix milliseconds by the catalog's clock, like the other times. */
  readonly createdMs: number;
  /** How long ago that was when the record was read. */
  readonly ageMs: number;
  /** When the first attempt began. */
  readonly startedMs: number | undefined;
  readonly endedMs: number | undefined;
  readonly attempts: number;
  /** Progress of the attempt under way. */
  readonly progress: DeleteProgress;
  /** Committed; 0 before. */
  readonly rowsDeleted: number;
  readonly filesRewritten: number;
  /** Why it failed; while it is not ended, why the last attempt did. */
  readonly error: string | undefined;
  /** The last claim, also after its lease ran out; undefined: nobody has one. */
  readonly claim: DeleteClaim | undefined;
  /** WAL segments whose rows it waits for; undefined: nobody has looked yet. */
  readonly awaited: readonly string[] | undefined;
}

/** The lease under which a process works on a task. */
export interface DeleteClaim {
  /** For people. */
  readonly claimant: string;
  readonly claimedMs: number;
  readonly expiresMs: number;
  /** How long ago it was claimed. */
  readonly ageMs: number;
}

/** How far an attempt is. */
export interface DeleteProgress {
  /** Data files that can hold such rows. */
  readonly filesTotal: number;
  /** How many of them were looked through and, where need be, written anew. */
  readonly filesDone: number;
  readonly rowsMatched: number;
}

export const NO_PROGRESS: DeleteProgress = { filesTotal: 0, filesDone: 0, rowsMatched: 0 };

export interface DeleteClaimRequest {
  readonly taskId: string;
  readonly claimant: string;
  /** Names this claim alone; never used again. */
  readonly token: string;
  readonly leaseMs: number;
  /** A task whose attempts are used up fails instead. */
  readonly attemptsMax: number;
}

/** What a commit says of the task that it carries out. */
export interface DeleteTaskCommit {
  readonly taskId: string;
  /** The token of the claim that must hold. */
  readonly token: string;
  readonly rowsDeleted: number;
  readonly filesRewritten: number;
}

/** Errors of all: `unavailable`, `permission_denied`, `corrupt`. */
export interface DeleteLedger extends AsyncDisposable {
  /**
   * Records a task as `pending`; undefined when the namespace has `unfinishedMax` that have not
   * ended.
   */
  submit(task: NewDeleteTask, unfinishedMax: number): Promise<DeleteTask | undefined>;
  find(namespace: string, taskId: string): Promise<DeleteTask | undefined>;
  /** Newest first. */
  list(namespace: string, max: number): Promise<readonly DeleteTask[]>;
  /**
   * Tasks that have not ended and that nobody holds or that wait for another attempt: one of each
   * namespace, then a second one of each, and so on. In a namespace the oldest of each table come
   * first, then the second oldest. So `max` of one table keep nothing else out of the list.
   */
  claimable(max: number): Promise<readonly DeleteTask[]>;
  /** Records which segments a task waits for, unless that is known; what is recorded. */
  awaitSegments(taskId: string, segments: readonly string[]): Promise<readonly string[]>;
  /**
   * Begins an attempt. undefined: it has ended, or another one holds it, or a task of the same
   * table is being worked on. When the answer is lost, the lease runs out.
   */
  claim(request: DeleteClaimRequest): Promise<DeleteTask | undefined>;
  /** Makes the claim last `leaseMs` from now and tells how far it is. False: it is lost. */
  renew(
    token: string,
    options: { readonly leaseMs: number; readonly progress: DeleteProgress },
  ): Promise<boolean>;
  /** The table has no such row: `done` without a commit. False: the claim is lost. */
  finishEmpty(token: string): Promise<boolean>;
  /** It cannot succeed, whoever tries. False: the claim is lost. */
  fail(token: string, error: string): Promise<boolean>;
  /**
   * The attempt ended without a commit; the next may begin after `delayMs`, and when there has been
   * `attemptsMax` of them the task has failed. Without an error the attempt does not count: it was
   * stopped. False: the claim is lost.
   */
  release(
    token: string,
    options: {
      readonly error?: string;
      readonly delayMs: number;
      readonly attemptsMax: number;
    },
  ): Promise<boolean>;
  /** Tasks that have not ended, by status. */
  unfinished(): Promise<Readonly<Record<"pending" | "running", number>>>;
  /** Forgets tasks that ended more than `ageMs` ago; how many. */
  forgetEnded(ageMs: number): Promise<number>;
}

/**
 * Batch jobs and their results: who reads them, and the few writes that change them.
 * `job_states.ts` has the transitions; each is one conditional write, so of several that race the
 * first one stands.
 *
 * A job has an owner, the process that runs it, which holds a lease by the store's clock. A row
 * without an owner was written by a program that takes ownership only when it begins.
 */

import type { JobStatus, JobVerdict } from "./job_states.ts";

/** Beginning of the error of a job whose owner was gone. See docs/api/query.md#states-of-a-job. */
export const EXECUTOR_GONE = "batch executor gone:";

/**
 * What is added to that error when the owner turned out to be late, not gone. See
 * docs/api/query.md#states-of-a-job.
 */
export const COMPUTED_TOO_LATE =
  "the result was computed after recovery had declared the executor " +
  "gone and was discarded; resubmit the query";

/** Folder of a namespace in the warehouse that holds rows of large results. */
export const JOB_RESULTS_FOLDER = "job_results";

/** A batch job as it is submitted. */
export interface NewJob {
  readonly id: string;
  /** Namespace of the tenant whose job it is. */
  readonly namespace: string;
  /** The statement; no NUL character. */
  readonly query: string;
  readonly owner: string | undefined;
  readonly leaseMs: number;
}

/** What a job holds for those who ask. */
export interface JobRow {
  readonly id: string;
  readonly status: JobStatus;
  readonly query: string;
  /** Unix milliseconds by the store's clock, as all times. */
  readonly submittedMs: number;
  readonly startedMs: number | undefined;
  readonly endedMs: number | undefined;
  /** JSON text of the statement's price; undefined before it was planned. */
  readonly cost: string | undefined;
  readonly progress: JobProgress | undefined;
  readonly error: string | undefined;
}

export interface JobProgress {
  /** Rows that the statement took from its sources so far. */
  readonly rows: number;
  /** 0 to 100; undefined while that is not known. */
  readonly percent: number | undefined;
}

/** A records response (docs/api/query.md#records-answer) in pieces: `head`, the rows, `tail`. */
export interface StoredResult {
  readonly head: string;
  readonly tail: string;
  /** The rows' text; undefined when it lies in the warehouse. */
  readonly rows: string | undefined;
  /** Files in the warehouse that hold the rows. */
  readonly parts: number;
}

export type JobEnd =
  & { readonly cost: string | undefined; readonly progress: JobProgress | undefined }
  & (
    | { readonly verdict: "succeeded"; readonly result: StoredResult }
    | { readonly verdict: Exclude<JobVerdict, "succeeded">; readonly error: string }
  );

/** What an owner tells of a job that runs. */
export interface JobReport {
  readonly id: string;
  readonly cost: string | undefined;
  readonly progress: JobProgress;
}

export interface AbandonedJob {
  readonly id: string;
  readonly owner: string | undefined;
  /** Since its lease ran out, or since it was submitted when it has no owner. */
  readonly sinceMs: number;
}

/** Errors of all: `unavailable` for what may pass, others for what does not. */
export interface JobStore extends AsyncDisposable {
  /** Adds a pending job. Once more is the same as once. */
  submit(job: NewJob): Promise<void>;
  /** The owner begins. False: it must not, the job is terminal, gone or another's. */
  publish(id: string, owner: string, leaseMs: number): Promise<boolean>;
  /**
   * Makes leases last `leaseMs` from now, also those that ran out; the ids that are open and the
   * owner's.
   */
  renew(owner: string, ids: readonly string[], leaseMs: number): Promise<ReadonlySet<string>>;
  /** Stores progress; the ids that are open and the owner's. */
  report(owner: string, reports: readonly JobReport[]): Promise<ReadonlySet<string>>;
  /**
   * Stores the result and the verdict, both or neither; true also when an earlier call did whose
   * answer was lost. False: another terminal state stands. A result that comes after `condemn`
   * leaves a note in the job's error.
   */
  finish(id: string, owner: string, end: JobEnd): Promise<boolean>;
  /**
   * `cancelled`, or what the job was before when it had ended; undefined: the tenant has no such
   * job.
   */
  cancel(
    namespace: string,
    id: string,
  ): Promise<{ readonly done: boolean; readonly status: JobStatus } | undefined>;
  job(namespace: string, id: string): Promise<JobRow | undefined>;
  /**
   * The newest jobs of a tenant, those before `before` when given; of each statement the first
   * `queryLengthMax` characters.
   */
  jobs(
    namespace: string,
    page: {
      readonly max: number;
      readonly queryLengthMax: number;
      readonly before?: string | undefined;
    },
  ): Promise<JobRow[]>;
  /** The result of a job that succeeded. */
  result(namespace: string, id: string): Promise<StoredResult | undefined>;
  /**
   * Open jobs whose lease ran out, or that had no owner for `ownerlessGraceMs`; the first `max`.
   */
  abandoned(options: { readonly ownerlessGraceMs: number; readonly max: number }): Promise<
    AbandonedJob[]
  >;
  /**
   * Ends an abandoned job with `error`. False: its lease was renewed meanwhile, or it has ended.
   */
  condemn(
    id: string,
    options: { readonly error: string; readonly ownerlessGraceMs: number },
  ): Promise<boolean>;
  /**
   * Removes jobs that ended `ageMsMin` ago or earlier, with their results; the ids, at most `max`.
   */
  expire(options: { readonly ageMsMin: number; readonly max: number }): Promise<string[]>;
  /**
   * Removes jobs that have ended, with their results, where a tenant has more than `keptMax` newer
   * ones; the ids, the oldest of a tenant first, at most `max`.
   */
  trim(options: { readonly keptMax: number; readonly max: number }): Promise<string[]>;
  /** Which of `ids` have a row. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

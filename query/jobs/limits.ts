/** Every bound of batch jobs: docs/api/query.md#batch-jobs. */

const MIB = 1024 ** 2;

/** A job is kept for this long after its end. */
export const JOB_TTL_MS = 24 * 3_600_000;
/**
 * Jobs that a tenant has at most, not counting open ones. Past that, the oldest that have ended go
 * before their time.
 */
export const JOBS_KEPT_MAX = 10_000;
/** Rows of a result up to this are kept in the job store; larger ones go to the warehouse. */
export const INLINE_BYTES_MAX = MIB;
/** Bytes of rows in one file there, more or less. */
export const PART_BYTES = 16 * MIB;
/** A larger result fails the job. */
export const RESULT_BYTES_MAX = 4 * 1024 * MIB;

/**
 * A write that a run waits for is tried for so long at a time, with these pauses between: 28 s in
 * all at most.
 */
export const ATTEMPT_MS_MAX = 6_000;
export const ATTEMPT_PAUSES_MS = [2_000, 8_000] as const;
/** Verdicts that did not land are tried again this often. */
export const RECONCILE_MS = 5_000;
/** How many such verdicts an executor keeps. The next one is left to its lease. */
export const UNPERSISTED_MAX = 1_024;

/** What clients are told to wait when the job store is away. */
export const STORE_RETRY_AFTER_SECS = 5;

/** Jobs of one page of the list. */
export const LIST_MAX = 1_000;
export const LIST_DEFAULT = 100;
/** Characters of a statement that the list shows. */
export const LISTED_QUERY_LENGTH_MAX = 1_000;

/** How long a request may wait for a job's end, and how many may. One more is answered at once. */
export const WAIT_SECS_MAX = 30;
export const JOB_WAITERS_MAX = 1_024;
/**
 * How often a waited-for job of another server is looked at. Its end is also told in between, where
 * the store can do that.
 */
export const WAIT_LOOK_MS = 500;
export const TOLD_WAIT_LOOK_MS = 5_000;

/** Jobs that one round of a sweep takes. */
export const SWEEP_MAX = 1_000;
export const EXPIRE_EVERY_MS = 60_000;
/** How often files of results whose job is gone are looked for. A crash leaves such files. */
export const LEFTOVERS_EVERY_MS = 3_600_000;
/** Younger files may be of a job that has not ended, or that another job store knows. */
export const LEFTOVER_AGE_MS_MIN = 2 * JOB_TTL_MS;

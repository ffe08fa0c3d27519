/**
 * States of a batch job, and every way from one to another: docs/api/query.md#states-of-a-job as
 * one table. The job store makes its conditions from it, so no write takes a job anywhere else.
 */

export const JOB_STATUSES = [
  "pending",
  "running",
  "succeeded",
  "failed",
  "cancelled",
  "timeout",
] as const;
export type JobStatus = typeof JOB_STATUSES[number];

/** States of a job that can still change. */
export const OPEN_STATUSES = ["pending", "running"] as const satisfies readonly JobStatus[];

export interface JobTransition {
  /** Without any: the job begins with it. */
  readonly from: readonly JobStatus[];
  readonly to: readonly JobStatus[];
  /** Who may do it. */
  readonly by: "anybody" | "owner" | "whoever finds it without a living owner";
}

export const JOB_TRANSITIONS = {
  /** A client asked for it, and a share of the admission budget is reserved. */
  submit: { from: [], to: ["pending"], by: "anybody" },
  /** The executor begins; from `running` when it did already and did not hear of it. */
  publish: { from: OPEN_STATUSES, to: ["running"], by: "owner" },
  /** The run reached its verdict. */
  finish: { from: OPEN_STATUSES, to: ["succeeded", "failed", "timeout"], by: "owner" },
  /** Somebody of its tenant cancelled it. */
  cancel: { from: OPEN_STATUSES, to: ["cancelled"], by: "anybody" },
  /** Its owner's lease ran out. */
  condemn: { from: OPEN_STATUSES, to: ["failed"], by: "whoever finds it without a living owner" },
} as const satisfies Readonly<Record<string, JobTransition>>;

export type JobTransitionName = keyof typeof JOB_TRANSITIONS;

/** A status that a run can reach. */
export type JobVerdict = typeof JOB_TRANSITIONS.finish.to[number];

/** Whether the job can still change. */
export function isOpen(status: JobStatus): boolean {
  return (OPEN_STATUSES as readonly JobStatus[]).includes(status);
}

/** Whether `text` is one of the states. */
export function isJobStatus(text: string): text is JobStatus {
  return (JOB_STATUSES as readonly string[]).includes(text);
}

/** Follows a batch job to its end. */

import { RequestError } from "../api/request.ts";
import { askJob, askJobRows, type JobRecord, type SqlAnswer } from "./sql_requests.ts";

/** The server answers sooner when the job ends. */
const WAIT_SECS = 5;

export type JobEnd =
  | { readonly kind: "rows"; readonly answer: SqlAnswer }
  | { readonly kind: "job"; readonly job: JobRecord };

/**
 * Tells each state of a job, and returns its rows. A stop leaves the job running: the page Jobs
 * cancels it. Errors: `RequestError`, also for a job that failed.
 */
export async function awaitJob(
  id: string,
  { signal, onChange }: {
    readonly signal: AbortSignal;
    readonly onChange: (job: JobRecord) => void;
  },
): Promise<JobEnd> {
  onChange({ job_id: id, status: "pending" });
  for (;;) {
    let job: JobRecord;
    try {
      job = await askJob(id, { waitSecs: WAIT_SECS, signal });
    } catch (error) {
      if (signal.aborted) return { kind: "job", job: { job_id: id, status: "running" } };
      throw error;
    }
    onChange(job);
    if (job.status === "succeeded") {
      return { kind: "rows", answer: await askJobRows(id, { signal }) };
    }
    if (job.status !== "pending" && job.status !== "running") {
      throw new RequestError(
        `The batch job ${id} is ${job.status}. ${job.error ?? ""}`.trim(),
        409,
      );
    }
  }
}

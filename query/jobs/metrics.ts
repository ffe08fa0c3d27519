/** What is counted of batch jobs. */

import { DURATION_SECS_BUCKETS, type MetricTable } from "../../shared/metrics/table.ts";

const WRITE_OUTCOMES = ["landed", "refused", "deferred", "dropped"] as const;
export type WriteOutcome = typeof WRITE_OUTCOMES[number];

export const JOB_METRICS = {
  jobsSubmitted: {
    kind: "counter",
    name: "svc_query_jobs_submitted_total",
    help: "Batch jobs that this server accepted",
  },
  jobsRunning: {
    kind: "gauge",
    name: "svc_query_jobs_running",
    help: "Batch jobs that this server holds a share of the memory pool for now",
  },
  jobRuns: {
    kind: "counter",
    name: "svc_query_job_runs_total",
    help:
      "Runs of batch jobs that ended here, by what they reached; stopped: the job was cancelled or had ended elsewhere",
    labels: { verdict: ["succeeded", "failed", "timeout", "stopped"] },
  },
  jobRunSecs: {
    kind: "histogram",
    name: "svc_query_job_run_seconds",
    help: "Time from a job's acceptance to the end of its run",
    buckets: [...DURATION_SECS_BUCKETS, 100, 300, 1_000, 3_600, 10_800, 21_600],
  },
  jobTerminalWrites: {
    kind: "counter",
    name: "svc_query_job_terminal_writes_total",
    help:
      "Verdicts by what became of them: landed; refused, another end stood; deferred, to be tried again; dropped, left to the lease",
    labels: { outcome: WRITE_OUTCOMES },
  },
  jobsUnpersisted: {
    kind: "gauge",
    name: "svc_query_jobs_unpersisted",
    help: "Jobs that ended here and whose verdict the job store does not have yet",
  },
  jobsCondemned: {
    kind: "counter",
    name: "svc_query_jobs_condemned_total",
    help: "Jobs of other servers that this one failed because their lease had run out",
  },
  jobsExpired: {
    kind: "counter",
    name: "svc_query_jobs_expired_total",
    help: "Ended jobs that were removed after their time, or past the room of their tenant",
  },
  jobStoreFailures: {
    kind: "counter",
    name: "svc_query_job_store_failures_total",
    help: "Calls of the job store that failed; transient ones are 503 to clients, the others 500",
    labels: { kind: ["transient", "other"] },
  },
  jobResultBytes: {
    kind: "counter",
    name: "svc_query_job_result_bytes_total",
    help: "Bytes of rows of results that were stored, by where",
    labels: { place: ["job_store", "warehouse"] },
  },
} as const satisfies MetricTable;

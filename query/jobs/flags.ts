/** Options of batch jobs: docs/api/command_line.md#options-of-the-servers. */

import type { OptionTable } from "../../shared/config/options.ts";

export const JOB_OPTIONS = {
  jobsPostgresUri: {
    kind: "text",
    flag: "jobs-postgres-uri",
    env: "SVC_JOBS_POSTGRES_URI",
    placeholder: "URI",
    help:
      "PostgreSQL database that keeps batch jobs, so that several query servers share them. Without it they are " +
      "kept beside the catalog: in its PostgreSQL database, or in the file jobs.db in its folder.",
  },
  jobsCancelPollSecs: {
    kind: "integer",
    flag: "jobs-cancel-poll-secs",
    env: "SVC_JOBS_CANCEL_POLL_SECS",
    placeholder: "SECONDS",
    default: 2,
    min: 1,
    max: 3_600,
    help:
      "How often a job's server looks whether another one cancelled it; PostgreSQL tells at once besides.",
  },
  jobsOwnerLeaseSecs: {
    kind: "integer",
    flag: "jobs-owner-lease-secs",
    env: "SVC_JOBS_OWNER_LEASE_SECS",
    placeholder: "SECONDS",
    default: 120,
    min: 3,
    max: 86_400,
    help:
      "A job whose server was not heard of for this long is failed by another one; it renews three times as often.",
  },
  jobsOwnerlessGraceSecs: {
    kind: "integer",
    flag: "jobs-ownerless-grace-secs",
    env: "SVC_JOBS_OWNERLESS_GRACE_SECS",
    placeholder: "SECONDS",
    default: 86_400,
    min: 1,
    max: 31_536_000,
    help: "A job that no server has taken for this long is failed.",
  },
} as const satisfies OptionTable;

/** Options of batch jobs: docs/api/command_line.md#options-of-the-servers. */

import type { OptionTable } from "../../shared/config/options.ts";

export const JOB_OPTIONS = {
  jobsPostgresUri: {
    kind: "text",
    flag: "jobs-postgres-uri",
    env: "SVC_JOBS_POSTGRES_URI",
    placeholder: "URI",
    help: "PostgreSQL database for batch jobs, so that several query servers share them. " +
      "Without it they are stored with the catalog: in its PostgreSQL database, or in the " +
      "file jobs.db in its folder.",
  },
  jobsCancelPollSecs: {
    kind: "integer",
    flag: "jobs-cancel-poll-secs",
    env: "SVC_JOBS_CANCEL_POLL_SECS",
    placeholder: "SECONDS",
    default: 2,
    min: 1,
    max: 3_600,
    help: "How often the server of a job checks whether another server cancelled it. With " +
      "PostgreSQL it also hears of that at once.",
  },
  jobsOwnerLeaseSecs: {
    kind: "integer",
    flag: "jobs-owner-lease-secs",
    env: "SVC_JOBS_OWNER_LEASE_SECS",
    placeholder: "SECONDS",
    default: 120,
    min: 3,
    max: 86_400,
    help: "A job fails when its server has not renewed its lease for this long. A server renews " +
      "three times as often.",
  },
  jobsOwnerlessGraceSecs: {
    kind: "integer",
    flag: "jobs-ownerless-grace-secs",
    env: "SVC_JOBS_OWNERLESS_GRACE_SECS",
    placeholder: "SECONDS",
    default: 86_400,
    min: 1,
    max: 31_536_000,
    help: "A job fails when no server has taken it for this long.",
  },
} as const satisfies OptionTable;

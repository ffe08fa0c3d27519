/**
 * The job store as routes and runs see it. It is opened when it is first needed, and its failures
 * are counted. Callers are told of them as docs/api/query.md#batch-jobs says: 503 with
 * `Retry-After: 5` for what may pass, 500 for anything else.
 */

import { isOperatingError, messageOf, OperatingError } from "../../shared/base/errors.ts";
import { LateResource } from "../../shared/base/late_resource.ts";
import type { JobStore } from "../../shared/catalog/job_store.ts";
import { sqlStateOf } from "../../shared/catalog/postgres_errors.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import { STORE_RETRY_AFTER_SECS } from "./limits.ts";
import type { JOB_METRICS } from "./metrics.ts";

const JOB_STORE_UNAVAILABLE = "job_store_unavailable";

/** How the store is opened, and where its failures are counted. */
export interface GuardOptions {
  readonly open: () => Promise<JobStore>;
  readonly metrics: Pick<Metrics<typeof JOB_METRICS>, "jobStoreFailures">;
}

/**
 * Wraps the job store. Errors of each call: `unavailable` with reason `job_store_unavailable`, or
 * `internal`.
 */
export function guardedStore({ open, metrics }: GuardOptions): JobStore {
  const late = new LateResource(open);
  const ask = async <T>(call: (store: JobStore) => Promise<T>): Promise<T> => {
    try {
      return await call(await late.get());
    } catch (error) {
      const told = storeError(error);
      const kind = told.code === "unavailable" ? "transient" : "other";
      metrics.jobStoreFailures.add(1, { kind });
      throw told;
    }
  };
  return {
    submit: (job) => ask((store) => store.submit(job)),
    publish: (id, owner, leaseMs) => ask((store) => store.publish(id, owner, leaseMs)),
    renew: (owner, ids, leaseMs) => ask((store) => store.renew(owner, ids, leaseMs)),
    report: (owner, reports) => ask((store) => store.report(owner, reports)),
    finish: (id, owner, end) => ask((store) => store.finish(id, owner, end)),
    cancel: (namespace, id) => ask((store) => store.cancel(namespace, id)),
    job: (namespace, id) => ask((store) => store.job(namespace, id)),
    jobs: (namespace, page) => ask((store) => store.jobs(namespace, page)),
    result: (namespace, id) => ask((store) => store.result(namespace, id)),
    abandoned: (options) => ask((store) => store.abandoned(options)),
    condemn: (id, options) => ask((store) => store.condemn(id, options)),
    expire: (options) => ask((store) => store.expire(options)),
    trim: (options) => ask((store) => store.trim(options)),
    known: (ids) => ask((store) => store.known(ids)),
    [Symbol.asyncDispose]: () => late[Symbol.asyncDispose](),
  };
}

/**
 * Failures that the catalog's table calls `unavailable` and that do not pass by themselves: a
 * database that is not there, and a server's disk.
 */
const LASTING_STATES = /^(3D|58)/;

function storeError(error: unknown): OperatingError {
  const cause = error instanceof Error ? error.cause : undefined;
  if (isOperatingError(error, "unavailable") && !LASTING_STATES.test(sqlStateOf(cause) ?? "")) {
    return new OperatingError("unavailable", error.message, {
      reason: JOB_STORE_UNAVAILABLE,
      retryAfterSecs: STORE_RETRY_AFTER_SECS,
      cause: error,
    });
  }
  return new OperatingError("internal", `The job store failed: ${messageOf(error)}`, {
    reason: "job_store_failed",
    cause: error,
  });
}

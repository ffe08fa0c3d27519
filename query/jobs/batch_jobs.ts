/** Batch jobs as the routes see them: accepted, looked at, waited for, fetched and cancelled. */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { isOpen, type JobStatus } from "../../shared/catalog/job_states.ts";
import type {
  JobProgress,
  JobRow,
  JobStore,
  StoredResult,
} from "../../shared/catalog/job_store.ts";
import { type Random, uuidV7 } from "../../shared/os/random.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Admission } from "../admission/admission.ts";
import type { EffectiveLimits } from "../limits.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import type { CallMade } from "../sql/sql_call.ts";
import type { SqlRequest } from "../sql/sql_request.ts";
import type { JobEnds } from "./job_ends.ts";
import type { JobExecutor } from "./job_executor.ts";
import { JOBS_KEPT_MAX } from "./limits.ts";
import type { ResultParts } from "./result_parts.ts";
import type { TerminalWrites } from "./terminal_writes.ts";

/** A parsed request for a batch job, with the limits that it gets. */
export interface JobSubmission {
  readonly asked: SqlRequest;
  readonly limits: EffectiveLimits;
  readonly made: CallMade;
  /** Aborts when the caller is gone: the wait for a share ends. */
  readonly signal: AbortSignal;
}

/** Takes statements with `priority` `batch`. */
export interface JobTaker {
  /**
   * The id of the new job. Errors: `rate_limited` when no share of the admission budget was free in
   * time, `unavailable` when the job store is away or the server stops.
   */
  submit(submission: JobSubmission): Promise<string>;
}

/** Which part of the list of jobs is wanted. */
export interface JobPage {
  readonly max: number;
  /** How many characters of each statement the list has. */
  readonly queryLengthMax: number;
  /** Lists jobs older than this one. */
  readonly before?: string | undefined;
}

/** What the routes need. Errors of all methods: `not_found`, and those of the guarded job store. */
export interface JobDesk extends JobTaker {
  job(namespace: string, id: string): Promise<JobRow>;
  /** The jobs of a namespace, newest first. */
  list(namespace: string, page: JobPage): Promise<JobRow[]>;
  /**
   * Returns the job once it has ended. After `ms`, or when the server stops, it returns the job as
   * it is.
   */
  ended(
    namespace: string,
    id: string,
    wait: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<JobRow>;
  /**
   * The stored result. Errors besides: `conflict` for a job that did not succeed; `not_found` for
   * one that has not ended.
   */
  result(namespace: string, id: string): Promise<StoredResult>;
  /**
   * One file of a result that is in the warehouse. Errors besides: the warehouse's, `corrupt` when
   * it is gone.
   */
  resultPart(id: string, part: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Cancels a job. Errors besides: `conflict` for a job that has ended. */
  cancel(namespace: string, id: string): Promise<void>;
}

/** Store, results, executor and admission behind the routes. */
export interface BatchJobsDeps {
  readonly store: JobStore;
  readonly executor: JobExecutor;
  readonly writes: TerminalWrites;
  readonly parts: Pick<ResultParts, "get">;
  readonly ends: JobEnds;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: QueryMetrics;
  readonly owner: string;
  readonly leaseMs: number;
  /** How often a waited-for job of another server is looked at. */
  readonly lookMs: number;
}

const NOT_ACCEPTED =
  "the job was not accepted: the job store's answer was lost; resubmit the query";

/** The jobs of all tenants, each asked by its namespace. */
export class BatchJobs implements JobDesk {
  readonly #deps: BatchJobsDeps;
  readonly #stop = new AbortController();
  #idMs = 0;

  constructor(deps: BatchJobsDeps) {
    this.#deps = deps;
  }

  /** Answers whoever waits now. */
  endWaits(): void {
    this.#stop.abort();
  }

  async submit({ asked, limits, made, signal }: JobSubmission): Promise<string> {
    const { admission, executor, metrics } = this.#deps;
    refuseUnstorable(asked.query);
    const reservation = await admission.reserve({
      tenant: made.caller.tenant,
      bytes: admission.shareBytes,
      signal,
      deadlineMs: Infinity,
    });
    try {
      if (executor.isStopping) throw stopping();
      const id = this.#newId();
      await this.#insert(id, made.caller.namespace, asked.query);
      metrics.jobsSubmitted.add(1, {});
      executor.start({ id, asked, limits, made, reservation });
      return id;
    } catch (error) {
      reservation[Symbol.dispose]();
      throw error;
    }
  }

  async job(namespace: string, id: string): Promise<JobRow> {
    const job = await this.#deps.store.job(namespace, id);
    if (job === undefined) throw unknownJob(id);
    return this.#live(job);
  }

  async list(namespace: string, page: JobPage): Promise<JobRow[]> {
    const jobs = await this.#deps.store.jobs(namespace, page);
    return jobs.map((job) => this.#live(job));
  }

  async ended(
    namespace: string,
    id: string,
    { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<JobRow> {
    const { clock, ends, executor, lookMs } = this.#deps;
    const untilMs = clock.monotonicMs() + ms;
    const over = AbortSignal.any([signal, this.#stop.signal]);
    for (;;) {
      // This is asked before the row is read, so that an end between the two is heard.
      const isHere = executor.run(id) !== undefined;
      const job = await this.job(namespace, id);
      const leftMs = untilMs - clock.monotonicMs();
      if (!isOpen(job.status) || leftMs <= 0 || over.aborted || !ends.hasRoom) return job;
      if (isHere && executor.run(id) === undefined) continue;
      await ends.wait(id, isHere ? leftMs : Math.min(leftMs, lookMs), over);
    }
  }

  async result(namespace: string, id: string): Promise<StoredResult> {
    const { store } = this.#deps;
    const { status, error } = await this.job(namespace, id);
    if (isOpen(status)) throw notEnded(id, status);
    if (status === "succeeded") {
      const result = await store.result(namespace, id);
      if (result === undefined) throw unknownJob(id); // Its time ran out in between.
      return result;
    }
    throw new OperatingError(
      "conflict",
      `Cannot fetch the result of job ${id}: it ended as ${status}${
        error === undefined ? "" : `: ${error}`
      }`,
      { reason: "job_not_succeeded" },
    );
  }

  async resultPart(id: string, part: number): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return await this.#deps.parts.get(id, part);
    } catch (cause) {
      if (!isOperatingError(cause, "not_found") && !isOperatingError(cause, "corrupt")) throw cause;
      throw new OperatingError(
        "corrupt",
        `Cannot read the result of job ${id}: file ${part} of it is gone or damaged; resubmit the query`,
        { reason: "result_lost", cause },
      );
    }
  }

  async cancel(namespace: string, id: string): Promise<void> {
    const { store, executor, ends } = this.#deps;
    const answer = await store.cancel(namespace, id);
    if (answer === undefined) throw unknownJob(id);
    if (!answer.done) {
      throw new OperatingError(
        "conflict",
        `Cannot cancel job ${id}: it has ended already, as ${answer.status}`,
        { reason: "job_ended" },
      );
    }
    executor.run(id)?.stop("ended");
    ends.tell(id);
  }

  /**
   * Each id is later than any before it: the list is sorted by ids, and several jobs may come
   * within one millisecond.
   */
  #newId(): string {
    const { random, clock } = this.#deps;
    this.#idMs = Math.max(Math.floor(clock.nowMs()), this.#idMs + 1);
    return uuidV7(random, this.#idMs);
  }

  async #insert(id: string, namespace: string, query: string): Promise<void> {
    const { store, writes, owner, leaseMs } = this.#deps;
    try {
      await store.submit({ id, namespace, query, owner, leaseMs });
    } catch (error) {
      // The row may be there all the same, and nobody will run it.
      const nothing = { cost: undefined, progress: undefined };
      writes.defer(id, { ...nothing, verdict: "failed", error: NOT_ACCEPTED });
      throw error;
    }
  }

  /** The row with what only the server that runs the job knows. */
  #live(job: JobRow): JobRow {
    const run = isOpen(job.status) ? this.#deps.executor.run(job.id) : undefined;
    if (run === undefined) return job;
    const progress: JobProgress | undefined = run.progress ?? job.progress;
    return { ...job, cost: run.cost ?? job.cost, progress };
  }
}

/** PostgreSQL's texts cannot hold this character. */
function refuseUnstorable(query: string): void {
  if (!query.includes("\0")) return;
  throw new OperatingError(
    "invalid_argument",
    "Cannot accept the job: its query holds a NUL character; write chr(0) in its place",
    { reason: "invalid_body" },
  );
}

function stopping(): OperatingError {
  return new OperatingError("unavailable", "Cannot accept the job: the server is stopping; retry", {
    retryAfterSecs: 1,
  });
}

/** The `not_found` of a job that is not there, or is another tenant's. */
export function unknownJob(id: string): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot find job ${JSON.stringify(id)}: there is none of that id, or it is removed, a day or ` +
      `${JOBS_KEPT_MAX} jobs after its end`,
    { reason: "unknown_job" },
  );
}

function notEnded(id: string, status: JobStatus): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot fetch the result of job ${id}: it is ${status}; poll /api/v1/jobs/${id} until it has ended`,
    { reason: "job_not_ended" },
  );
}

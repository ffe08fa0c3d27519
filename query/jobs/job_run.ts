/**
 * One batch job on this server, from its acceptance to its verdict. Ownership is published, the
 * statement is planned and run, its result is stored, its verdict is written. Whatever happens, its
 * share of the memory pool is given back, and it is run once.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf, OperatingError } from "../../shared/base/errors.ts";
import {
  EXECUTOR_GONE,
  type JobEnd,
  type JobProgress,
  type JobStore,
} from "../../shared/catalog/job_store.ts";
import type { RunningQuery } from "../../shared/engine/types.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { EffectiveLimits } from "../limits.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import { type CallMade, type CallService, SqlCall } from "../sql/sql_call.ts";
import type { SqlRequest } from "../sql/sql_request.ts";
import { attempts } from "./attempt.ts";
import { collectResult } from "./job_result.ts";
import { discardQuietly, type ResultParts } from "./result_parts.ts";
import type { TerminalWrites } from "./terminal_writes.ts";

/** What was accepted. */
export interface JobTask {
  readonly id: string;
  readonly asked: SqlRequest;
  readonly limits: EffectiveLimits;
  readonly made: CallMade;
  /** Its share of the admission budget. */
  readonly reservation: Disposable;
}

/** What one run needs: calls, results, the store and the writer of verdicts. */
export interface JobRunDeps {
  readonly calls: CallService;
  readonly store: Pick<JobStore, "publish">;
  readonly writes: TerminalWrites;
  readonly parts: Pick<ResultParts, "put" | "discard">;
  readonly owner: string;
  readonly leaseMs: number;
  readonly metrics: QueryMetrics;
}

/** Why a run was told to stop: the job has ended without it, or this server is going down. */
export type StopCause = "ended" | "shutdown";

const NOT_BEGUN =
  "the job could not begin because the job store was unavailable, nothing ran; resubmit the query";
const SHUT_DOWN =
  `${EXECUTOR_GONE} its server was stopped while the job was open; resubmit the query`;

/** One run of one job. `run` is called once. */
export class JobRun {
  readonly #task: JobTask;
  readonly #deps: JobRunDeps;
  readonly #startedMs: number;
  readonly #hurry = new AbortController();
  #stopped: StopCause | undefined;
  #call: SqlCall | undefined;
  #running: RunningQuery | undefined;
  #cost: string | undefined;
  #hasParts = false;
  #hasVerdict = false;
  #progress: JobProgress | undefined;

  constructor(task: JobTask, deps: JobRunDeps) {
    this.#task = task;
    this.#deps = deps;
    this.#startedMs = deps.calls.clock.monotonicMs();
  }

  get id(): string {
    return this.#task.id;
  }

  /** JSON text of the statement's price, once it is planned. */
  get cost(): string | undefined {
    return this.#cost;
  }

  /** What the run did so far; undefined before it reads. The figures never go back. */
  get progress(): JobProgress | undefined {
    const now = this.#running?.progress();
    if (now !== undefined) {
      const { rows = 0, percent } = this.#progress ?? {};
      this.#progress = {
        rows: Math.max(rows, now.rows),
        percent: now.percent === undefined ? percent : Math.max(percent ?? 0, now.percent),
      };
    }
    return this.#progress;
  }

  /** Whether the statement is over, and its end is on the way into the store. */
  get hasVerdict(): boolean {
    return this.#hasVerdict;
  }

  /** Interrupts the statement; the first cause counts. */
  stop(cause: StopCause): void {
    this.#stopped ??= cause;
    this.#hurry.abort();
    this.#call?.stop(stopError(this.#stopped));
  }

  /** Runs the job to its end. Never rejects. */
  async run(): Promise<void> {
    using _share = this.#task.reservation;
    const { writes, metrics, calls } = this.#deps;
    if (!await this.#publish()) return this.#count("stopped");
    const end = await this.#execute();
    this.#hasVerdict = true;
    metrics.jobRunSecs.observe((calls.clock.monotonicMs() - this.#startedMs) / 1000);
    if (end === undefined) return this.#count("stopped");
    this.#count(end.verdict);
    const outcome = await writes.write(this.id, end);
    const isKept = outcome === "landed" || outcome === "deferred";
    if (!isKept) await this.#discardParts();
  }

  #count(verdict: JobEnd["verdict"] | "stopped"): void {
    this.#deps.metrics.jobRuns.add(1, { verdict });
  }

  /**
   * Publishes this server as the owner. False: the job is not this server's to run, or not any
   * more.
   */
  async #publish(): Promise<boolean> {
    const { store, owner, leaseMs, calls, writes } = this.#deps;
    try {
      const isOurs = await attempts(
        calls.clock,
        this.#hurry.signal,
        () => store.publish(this.id, owner, leaseMs),
      );
      if (isOurs && this.#stopped === "shutdown") {
        await writes.write(this.id, { ...this.#measured(), verdict: "failed", error: SHUT_DOWN });
      }
      return isOurs && this.#stopped === undefined;
    } catch (error) {
      getLogger(["svc", "query"]).warning("cannot begin job {id}: {error}", {
        id: this.id,
        error: messageOf(error),
      });
      writes.defer(this.id, { ...this.#measured(), verdict: "failed", error: NOT_BEGUN });
      return false;
    }
  }

  /** Runs the statement. Undefined: the job has ended without this run. */
  async #execute(): Promise<JobEnd | undefined> {
    const { calls, metrics } = this.#deps;
    const { asked, limits, made } = this.#task;
    const call = new SqlCall(calls, { ...made, isJob: true });
    this.#call = call;
    try {
      await call.prepare(asked, limits);
      this.#cost = JSON.stringify(call.prepared.cost);
      const running = await call.run();
      this.#running = running;
      const { result, rowCount, truncated, byteLength, rowsScanned } = await collectResult(
        call,
        running,
        (part, rows) => this.#putPart(part, rows),
      );
      const rows = Math.max(this.progress?.rows ?? 0, rowsScanned);
      this.#progress = { rows, percent: 100 };
      this.#running = undefined;
      const place = result.parts > 0 ? "warehouse" : "job_store";
      metrics.jobResultBytes.add(byteLength, { place });
      call.end("ok", { rowsReturned: rowCount, truncated });
      return { ...this.#measured(), verdict: "succeeded", result };
    } catch (thrown) {
      const failure = call.failureOf(thrown);
      call.endWith(failure);
      await this.#discardParts();
      return this.#stopped === "ended" ? undefined : this.#failedEnd(failure);
    } finally {
      this.#running = undefined;
      this.#call = undefined;
      await call[Symbol.asyncDispose]();
    }
  }

  async #putPart(part: number, rows: readonly Uint8Array[]): Promise<void> {
    this.#hasParts = true;
    await this.#deps.parts.put(this.id, part, rows);
  }

  async #discardParts(): Promise<void> {
    if (this.#hasParts) await discardQuietly(this.#deps.parts, [this.id]);
  }

  #failedEnd(failure: unknown): JobEnd {
    const measured = this.#measured();
    if (this.#stopped === "shutdown") return { ...measured, verdict: "failed", error: SHUT_DOWN };
    if (isOperatingError(failure, "deadline_exceeded")) {
      const seconds = this.#task.limits.timeoutMs / 1000;
      const error = `the query exceeded the timeout of ${seconds} s: narrow it, or raise ` +
        "limits.timeout_seconds";
      return { ...measured, verdict: "timeout", error };
    }
    return { ...measured, verdict: "failed", error: asOperatingError(failure).message };
  }

  #measured(): Pick<JobEnd, "cost" | "progress"> {
    return { cost: this.#cost, progress: this.progress };
  }
}

function stopError(cause: StopCause): OperatingError {
  return new OperatingError(
    "cancelled",
    cause === "ended"
      ? "The job was cancelled, or another server ended it"
      : "The server is stopping",
  );
}

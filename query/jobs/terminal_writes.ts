/**
 * Verdicts on their way into the job store. A run waits for three attempts. A verdict that did not
 * land then is kept here without its result, and tried again until it lands or another end stands.
 * See docs/api/query.md#verdicts-that-cannot-be-stored.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { JobEnd, JobStore } from "../../shared/catalog/job_store.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { attempt, attempts } from "./attempt.ts";
import { RECONCILE_MS, UNPERSISTED_MAX } from "./limits.ts";
import type { JOB_METRICS, WriteOutcome } from "./metrics.ts";

const RESULT_NOT_STORED =
  "the job finished but its result could not be stored (job store unavailable); " +
  "the result was discarded, resubmit the query";
const ERROR_NOT_STORED =
  "the job failed and its error could not be stored (job store unavailable); " +
  "resubmit the query to see why";
const RECORDED_LATER = "recorded after the job store became reachable again";

/** The store, and whose jobs' ends are written to it. */
export interface TerminalWriteDeps {
  readonly store: Pick<JobStore, "finish">;
  /** Owner of the jobs whose ends are written. */
  readonly owner: string;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics<typeof JOB_METRICS>, "jobTerminalWrites" | "jobsUnpersisted">;
}

/** Ends of this server's jobs that are written, or are still to be written. */
export class TerminalWrites implements AsyncDisposable {
  readonly #deps: TerminalWriteDeps;
  readonly #stop = new AbortController();
  readonly #unpersisted = new Map<string, JobEnd>();
  #working: Promise<void> | undefined;

  constructor(deps: TerminalWriteDeps) {
    this.#deps = deps;
    deps.metrics.jobsUnpersisted.readAtScrape(() => this.#unpersisted.size, {});
  }

  /** Jobs whose verdict is still to be written: they are alive, their leases are renewed. */
  get ids(): readonly string[] {
    return [...this.#unpersisted.keys()];
  }

  /** Writes the end of a job. Never rejects; takes half a minute at most. */
  async write(id: string, end: JobEnd): Promise<WriteOutcome> {
    const { store, owner, clock } = this.#deps;
    try {
      const landed = await attempts(
        clock,
        this.#stop.signal,
        () => store.finish(id, owner, end),
      );
      return this.#count(landed ? "landed" : "refused");
    } catch (error) {
      getLogger(["svc", "query"]).warning("cannot store the end of job {id}: {error}", {
        id,
        error: messageOf(error),
      });
      return this.defer(id, laterEnd(end));
    }
  }

  /** Writes the end, which holds no rows, when the store can be reached again. */
  defer(id: string, end: JobEnd): WriteOutcome {
    if (this.#unpersisted.size >= UNPERSISTED_MAX) {
      getLogger(["svc", "query"]).error(
        "gave up on the end of job {id}: {count} others wait for the job store already",
        { id, count: this.#unpersisted.size },
      );
      return this.#count("dropped");
    }
    this.#unpersisted.set(id, end);
    this.#working ??= this.#work();
    return this.#count("deferred");
  }

  /**
   * Hurries the runs that wait, and tries each deferred verdict once more. What does not land is
   * left to its lease.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    for (let isLast = false; this.#unpersisted.size > 0 && !isLast;) {
      await clock.sleep(RECONCILE_MS, { signal }).catch(() => {}); // Stopped: the last round.
      isLast = signal.aborted;
      await this.#round();
    }
    this.#working = undefined;
  }

  async #round(): Promise<void> {
    const { store, owner, clock } = this.#deps;
    for (const [id, end] of this.#unpersisted) {
      try {
        const landed = await attempt(clock, () => store.finish(id, owner, end));
        this.#unpersisted.delete(id);
        this.#count(landed ? "landed" : "refused");
      } catch (error) {
        // A store that is away is away for all of them. Another failure may be this verdict's
        // alone.
        if (isOperatingError(error, "unavailable")) return;
      }
    }
  }

  #count(outcome: WriteOutcome): WriteOutcome {
    this.#deps.metrics.jobTerminalWrites.add(1, { outcome });
    return outcome;
  }
}

/**
 * What is written later instead of `end`: its result is not kept, unless it lies in the warehouse.
 */
function laterEnd(end: JobEnd): JobEnd {
  const { cost, progress } = end;
  switch (end.verdict) {
    case "succeeded":
      if (end.result.parts > 0) return end;
      return { cost, progress, verdict: "failed", error: RESULT_NOT_STORED };
    case "failed":
      return { cost, progress, verdict: "failed", error: ERROR_NOT_STORED };
    case "timeout":
      return { cost, progress, verdict: "timeout", error: `${end.error}; ${RECORDED_LATER}` };
  }
}

/**
 * What every server does for the jobs of all servers. It fails jobs whose server is gone, and
 * removes jobs whose time is over. It also removes files of results that no job knows.
 */

import { getLogger } from "@logtape/logtape";
import { type AbandonedJob, EXECUTOR_GONE, type JobStore } from "../../shared/catalog/job_store.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { FailureLog } from "../../shared/logging/failure_log.ts";
import {
  EXPIRE_EVERY_MS,
  JOB_TTL_MS,
  JOBS_KEPT_MAX,
  LEFTOVER_AGE_MS_MIN,
  LEFTOVERS_EVERY_MS,
  SWEEP_MAX,
} from "./limits.ts";
import type { JOB_METRICS } from "./metrics.ts";
import { discardQuietly, type ResultParts } from "./result_parts.ts";

/** Store and results that are swept, and how often, in milliseconds. */
export interface JobSweepDeps {
  readonly store: Pick<JobStore, "abandoned" | "condemn" | "expire" | "known" | "trim">;
  readonly parts: Pick<ResultParts, "discard" | "olderThan">;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics<typeof JOB_METRICS>, "jobsCondemned" | "jobsExpired">;
  /** How often abandoned jobs are looked for. */
  readonly recoverEveryMs: number;
  readonly ownerlessGraceMs: number;
  /**
   * Jobs that this server runs itself: they may be late with a heartbeat, but they are not gone.
   */
  readonly own: () => readonly string[];
  /** Whether there is a store yet: a sweep makes none. */
  readonly exists: () => Promise<boolean>;
}

/** The sweeps of one server. Disposing it waits for a round that is under way. */
export class JobSweeps implements AsyncDisposable {
  readonly #deps: JobSweepDeps;
  readonly #stop = new AbortController();
  readonly #failureLog: FailureLog;
  readonly #loops: readonly Promise<void>[];

  /** Starts sweeping; the first look for abandoned jobs is at once. */
  constructor(deps: JobSweepDeps) {
    this.#deps = deps;
    this.#failureLog = new FailureLog({
      clock: deps.clock,
      log: getLogger(["svc", "query"]),
      over: "batch jobs are swept again",
    });
    this.#loops = [
      this.#every(deps.recoverEveryMs, "look for abandoned batch jobs", () => this.recover()),
      this.#every(EXPIRE_EVERY_MS, "remove batch jobs whose time is over", () => this.expire()),
      this.#every(
        LEFTOVERS_EVERY_MS,
        "look for results that no batch job knows",
        () => this.removeLeftovers(),
      ),
    ];
  }

  /** Fails jobs whose lease ran out. */
  async recover(): Promise<void> {
    const { store, metrics, ownerlessGraceMs, own, clock } = this.#deps;
    const abandoned = await store.abandoned({ ownerlessGraceMs, max: SWEEP_MAX });
    const ours = new Set(own());
    for (const job of abandoned) {
      if (ours.has(job.id)) continue;
      const error = goneText(job, clock.nowMs());
      if (await store.condemn(job.id, { error, ownerlessGraceMs })) {
        metrics.jobsCondemned.add(1, {});
      }
    }
  }

  /** Removes jobs past their time or past their tenant's room, with their results. */
  async expire(): Promise<void> {
    const { store } = this.#deps;
    await this.#remove(() => store.expire({ ageMsMin: JOB_TTL_MS, max: SWEEP_MAX }));
    await this.#remove(() => store.trim({ keptMax: JOBS_KEPT_MAX, max: SWEEP_MAX }));
  }

  /** Removes files of jobs that have no row: their server was killed, or an expiry was. */
  async removeLeftovers(): Promise<void> {
    const { store, parts, clock } = this.#deps;
    const old = await parts.olderThan(clock.nowMs() - LEFTOVER_AGE_MS_MIN);
    for (let at = 0; at < old.length; at += SWEEP_MAX) {
      const ids = old.slice(at, at + SWEEP_MAX);
      const known = await store.known(ids);
      await parts.discard(ids.filter((id) => !known.has(id)));
    }
  }

  /** Stops sweeping, and waits for a round that is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  /** Removes what `round` returns, round after round, until it returns nothing. */
  async #remove(round: () => Promise<readonly string[]>): Promise<void> {
    const { parts, metrics } = this.#deps;
    for (;;) {
      const ids = await round();
      metrics.jobsExpired.add(ids.length, {});
      if (ids.length > 0) await discardQuietly(parts, ids);
      if (ids.length < SWEEP_MAX || this.#stop.signal.aborted) return;
    }
  }

  async #every(ms: number, what: string, sweep: () => Promise<void>): Promise<void> {
    const { clock, exists } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        if (await exists()) await sweep();
        this.#failureLog.worked(what);
      } catch (error) {
        this.#failureLog.failed(what, what, error);
      }
      await clock.sleep(ms, { signal }).catch(() => {}); // Stopped while asleep.
    }
  }
}

function goneText({ owner, sinceMs }: AbandonedJob, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - sinceMs) / 1000));
  const why = owner === undefined
    ? `no server had taken the job in ${seconds} s`
    : `its server ${owner} has not renewed its lease, which ran out ${seconds} s ago`;
  return `${EXECUTOR_GONE} ${why}; resubmit the query`;
}

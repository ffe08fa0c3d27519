/**
 * Runs the jobs of this server: renews their leases, stores their progress, and stops those that
 * ended elsewhere.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../shared/base/errors.ts";
import type { JobStore } from "../../shared/catalog/job_store.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { JobEnds } from "./job_ends.ts";
import { JobRun, type JobRunDeps, type JobTask } from "./job_run.ts";

/** Heartbeats within one lease: two of them may be lost. */
const HEARTBEATS_PER_LEASE = 3;

/** What runs need, and the store that keeps their leases and progress. */
export interface JobExecutorDeps extends JobRunDeps {
  readonly store: Pick<JobStore, "publish" | "renew" | "report">;
  readonly ends: JobEnds;
  readonly cancelPollMs: number;
}

/** All runs of this server. Disposing it stops them. */
export class JobExecutor implements AsyncDisposable {
  readonly #deps: JobExecutorDeps;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #runs = new Map<string, JobRun>();
  readonly #ended = new Set<Promise<void>>();
  readonly #loops: readonly Promise<void>[];
  #looking: Promise<void> | undefined;
  /** Whether the last call of the store for the runs failed: an outage is told once. */
  #isCutOff = false;

  constructor(deps: JobExecutorDeps) {
    this.#deps = deps;
    this.#clock = deps.calls.clock;
    deps.metrics.jobsRunning.readAtScrape(() => this.#runs.size, {});
    this.#loops = [
      this.#every(deps.leaseMs / HEARTBEATS_PER_LEASE, () => this.#renew()),
      this.#every(deps.cancelPollMs, () => this.#lookOnce()),
    ];
  }

  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The run of a job while this server runs it; undefined otherwise. */
  run(id: string): JobRun | undefined {
    return this.#runs.get(id);
  }

  /** Jobs whose leases this server keeps. */
  get ids(): readonly string[] {
    return [...this.#runs.keys(), ...this.#deps.writes.ids];
  }

  /** Begins a job whose row names this server as its owner. */
  start(task: JobTask): void {
    const run = new JobRun(task, this.#deps);
    this.#runs.set(task.id, run);
    const ended = run.run().catch((error) => {
      // This is a bug. The job's lease runs out, and the job is failed by that.
      getLogger(["svc", "query"]).error("job {id} was given up: {error}", { id: task.id, error });
    }).finally(() => {
      this.#runs.delete(task.id);
      this.#ended.delete(ended);
      this.#deps.ends.tell(task.id);
    });
    this.#ended.add(ended);
    if (this.isStopping) run.stop("shutdown");
  }

  /**
   * Hears that a job has ended somewhere; without an id any job may have. A run that knows nothing
   * of it looks.
   */
  heard(id: string | undefined): void {
    const run = id === undefined ? undefined : this.#runs.get(id);
    if (id === undefined || run?.hasVerdict === false) void this.#keptUp(() => this.#lookOnce());
  }

  /** Stops all runs, and waits until their ends are stored or given up. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    for (const run of this.#runs.values()) run.stop("shutdown");
    const written = this.#deps.writes[Symbol.asyncDispose]();
    await Promise.all([...this.#ended, ...this.#loops]);
    await written;
    await this.#deps.writes[Symbol.asyncDispose]();
  }

  /** One look serves all who ask for one while it goes on. */
  #lookOnce(): Promise<void> {
    return this.#looking ??= this.#look().finally(() => this.#looking = undefined);
  }

  /** Stores the progress of every run and stops those whose job has ended. */
  async #look(): Promise<void> {
    const runs = [...this.#runs.values()];
    if (runs.length === 0) return;
    const open = await this.#deps.store.report(
      this.#deps.owner,
      runs.map((run) => ({
        id: run.id,
        cost: run.cost,
        progress: run.progress ?? { rows: 0, percent: undefined },
      })),
    );
    for (const run of runs) if (!open.has(run.id)) run.stop("ended");
  }

  /** A job that is not renewed has ended, or was never there: its run stops. */
  async #renew(): Promise<void> {
    const { store, owner, leaseMs } = this.#deps;
    const { ids } = this;
    if (ids.length === 0) return;
    const open = await store.renew(owner, ids, leaseMs);
    for (const id of ids) if (!open.has(id)) this.#runs.get(id)?.stop("ended");
  }

  async #every(ms: number, action: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await this.#clock.sleep(ms, { signal }).catch(() => {}); // Stopped while asleep.
      if (signal.aborted) return;
      await this.#keptUp(action);
    }
  }

  /** Runs `action` and logs its failure. Never rejects. */
  async #keptUp(action: () => Promise<void>): Promise<void> {
    const log = getLogger(["svc", "query"]);
    try {
      await action();
      if (this.#isCutOff) log.info("the job store answers again");
      this.#isCutOff = false;
    } catch (error) {
      if (!this.#isCutOff) {
        log.warning("cannot keep up the jobs that run here, which go on: {error}", {
          error: messageOf(error),
        });
      }
      this.#isCutOff = true;
    }
  }
}

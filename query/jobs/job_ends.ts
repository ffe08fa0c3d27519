/** Wakes whoever waits for the end of a job. It is a hint: the woken look at the job. */

import type { Clock } from "../../shared/os/clock.ts";
import { JOB_WAITERS_MAX } from "./limits.ts";

/** Callers that wait for the ends of jobs, of which there is a bounded number. */
export class JobEnds {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells that the job `id` has ended; without an id any job may have. */
  tell(id?: string): void {
    const told = id === undefined ? [...this.#waiting.values()] : [this.#waiting.get(id) ?? []];
    for (const waiters of told) for (const wake of waiters) wake();
  }

  /** Whether one more caller may wait. */
  get hasRoom(): boolean {
    return this.#count < JOB_WAITERS_MAX;
  }

  /** Resolves when `id` is told, `signal` aborts or `ms` have passed. */
  async wait(id: string, ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    const waiters = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiters.add(wake));
    this.#count += 1;
    try {
      const until = AbortSignal.any([woken.signal, signal]);
      await this.#clock.sleep(ms, { signal: until }).catch(() => {}); // Woken early.
    } finally {
      this.#count -= 1;
      waiters.delete(wake);
      if (waiters.size === 0 && this.#waiting.get(id) === waiters) this.#waiting.delete(id);
    }
  }
}

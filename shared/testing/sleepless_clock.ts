/**
 * A clock for code that only backs off: sleeping passes the time at once. See `fake_clock.ts` for
 * real waits.
 */

import type { Clock } from "../os/clock.ts";

export class SleeplessClock implements Clock {
  #ms: number;

  constructor(startMs = Date.UTC(2026, 10, 20, 12)) {
    this.#ms = startMs;
  }

  /** Moves time, forward or back as a wall clock may. */
  shift(ms: number): void {
    this.#ms += ms;
  }

  nowMs(): number {
    return Math.floor(this.#ms);
  }

  nowNs(): bigint {
    return BigInt(this.nowMs()) * 1_000_000n;
  }

  monotonicMs(): number {
    return this.#ms;
  }

  sleep(ms: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    this.#ms += ms;
    return Promise.resolve();
  }
}

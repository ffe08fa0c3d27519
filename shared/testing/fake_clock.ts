/** A clock that tests own: it moves only when told, and sleeping moves it. */

import type { Clock } from "../os/clock.ts";

export class FakeClock implements Clock {
  #ms: number;

  constructor(startMs = Date.UTC(2026, 10, 20, 12)) {
    this.#ms = startMs;
  }

  /** Moves time, forward or back as a wall clock may. */
  advance(ms: number): void {
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

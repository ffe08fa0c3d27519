/** A clock that a test moves. Sleepers wake in order of their time, each with its consequences. */

import { setImmediate } from "node:timers";
import type { Clock } from "../os/clock.ts";

interface Sleeper {
  readonly wakeMs: number;
  wake(): void;
}

export class FakeClock implements Clock {
  #nowMs: number;
  /** How far the wall clock is from where it would be; durations do not know. */
  jumpMs = 0;
  readonly #startMs: number;
  #sleepers: Sleeper[] = [];

  /** Starts at 2026-11-20T21:04:05Z unless told. */
  constructor(nowMs = Date.UTC(2026, 10, 20, 21, 4, 5)) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs;
  }

  nowMs(): number {
    return Math.floor(this.#nowMs + this.jumpMs);
  }

  nowNs(): bigint {
    return BigInt(this.nowMs()) * 1_000_000n;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  /** How many sleep now. */
  get sleepers(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const sleeper = {
        wakeMs: this.#nowMs + ms,
        wake: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.push(sleeper);
    });
  }

  /**
   * Lets `ms` pass; code that wakes runs until nothing but timers and real input are left to wait
   * for.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await turn();
      const due = this.#sleepers.filter((sleeper) => sleeper.wakeMs <= endMs)
        .sort((a, b) => a.wakeMs - b.wakeMs)[0];
      if (due === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, due.wakeMs);
      this.#sleepers = this.#sleepers.filter((other) => other !== due);
      due.wake();
    }
    this.#nowMs = endMs;
  }
}

/** One turn of the event loop: every promise that can settle by itself has settled afterwards. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

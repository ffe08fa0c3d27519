/** A wall clock of a machine, over the scheduler's time. */

import type { Clock } from "../../shared/os/clock.ts";
import type { Runner, Scheduler } from "./scheduler.ts";

/** The wall clock's time at the beginning. */
export const START_MS = Date.UTC(2026, 10, 20, 20);

/** A wall clock that may be wrong. */
export interface WallClock {
  offsetMs: number;
}

export class SimClock implements Clock {
  constructor(
    readonly scheduler: Scheduler,
    readonly wall: WallClock,
    readonly process?: Runner,
  ) {}

  nowMs(): number {
    return START_MS + Math.floor(this.scheduler.nowMs) + this.wall.offsetMs;
  }

  nowNs(): bigint {
    return BigInt(this.nowMs()) * 1_000_000n;
  }

  monotonicMs(): number {
    return this.scheduler.nowMs;
  }

  sleep(ms: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.process === undefined) throw new Error("nobody sleeps by this clock");
    return this.scheduler.sleep(this.process, ms, options.signal);
  }
}

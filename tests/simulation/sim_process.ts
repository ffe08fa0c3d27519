/** A process of a simulated machine, and the clock that it sees. */

import type { Clock } from "../../shared/os/clock.ts";
import type { FileLock } from "../../shared/os/file_system.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimMachine } from "./sim_machine.ts";

/** The wall clock's time at the beginning. */
export const START_MS = Date.UTC(2026, 10, 20, 20);

export class SimProcess {
  isDead = false;
  /** Stands still until then, by the scheduler's time. */
  pausedUntilMs = 0;
  /** Released when the process ends, as the system does. */
  readonly locks = new Set<FileLock>();
  readonly random: SeededRandom;
  readonly clock: Clock;
  /** Told once when it has ended. */
  onEnd: () => void = () => {};

  constructor(
    readonly name: string,
    readonly machine: SimMachine,
    readonly scheduler: Scheduler,
  ) {
    this.random = new SeededRandom(scheduler.random.below(2 ** 31));
    this.clock = new SimClock(scheduler, machine, this);
  }

  /** Ends it as SIGKILL does; a step that it waits for never comes. */
  async end(): Promise<void> {
    if (this.isDead) return;
    this.isDead = true;
    await this.scheduler.abandon(this);
    for (const lock of this.locks) lock[Symbol.dispose]();
    this.onEnd();
  }
}

/** A wall clock that may be wrong. */
export interface WallClock {
  offsetMs: number;
}

export class SimClock implements Clock {
  constructor(
    readonly scheduler: Scheduler,
    readonly wall: WallClock,
    readonly process?: SimProcess,
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

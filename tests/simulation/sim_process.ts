/** A process of a simulated machine. */

import type { Clock } from "../../shared/os/clock.ts";
import type { FileLock } from "../../shared/os/file_system.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { Scheduler } from "./scheduler.ts";
import { SimClock } from "./sim_clock.ts";
import type { SimMachine } from "./sim_machine.ts";

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

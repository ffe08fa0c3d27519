/** A machine whose disk can lose power: `shared/testing/crashable_file_system.ts`. */

import { CrashableFileSystem } from "../../shared/testing/crashable_file_system.ts";
import type { PowerLoss } from "../../shared/testing/power_loss.ts";
import type { Runner, Scheduler } from "./scheduler.ts";
import { SimClock, type WallClock } from "./sim_clock.ts";

export const WAL_ROOT = "/wal";
export const SCRATCH_DIR = "/scratch";

/** A process that runs here. */
export interface MachineProcess extends Runner {
  pausedUntilMs: number;
  end(): Promise<void>;
}

export class SimMachine implements WallClock {
  offsetMs = 0;
  readonly processes = new Set<MachineProcess>();
  /** The next operation of the disk fails. */
  isBreaking = false;
  #files: CrashableFileSystem;

  constructor(
    readonly name: string,
    readonly scheduler: Scheduler,
    /** Whether an ingest server writes a WAL here. */
    readonly hasWal: boolean,
  ) {
    this.#files = new CrashableFileSystem(this.#options());
  }

  /** The disk itself, for who looks at it from outside: no step of the schedule. */
  get files(): CrashableFileSystem {
    return this.#files;
  }

  /** Runs `act`, whose first change of the disk fails if `fails`. */
  async with<T>(fails: boolean, act: () => Promise<T>): Promise<T> {
    this.isBreaking = fails;
    try {
      return await act();
    } finally {
      this.isBreaking = false;
    }
  }

  async loseProcesses(): Promise<void> {
    for (const process of [...this.processes]) await process.end();
  }

  /** Its processes are gone, and of what was not synced what `loss` says. */
  async losePower(loss: PowerLoss): Promise<void> {
    await this.loseProcesses();
    this.#files = this.#files.reboot(loss, this.scheduler.random, this.#options());
  }

  #options() {
    const clock = new SimClock(this.scheduler, this);
    return {
      nowMs: () => clock.nowMs(),
      onOperation: () => {
        if (!this.isBreaking) return undefined;
        this.isBreaking = false;
        return new Error("Input/output error (os error 5)");
      },
    };
  }
}

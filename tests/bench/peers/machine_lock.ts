/**
 * A file lock that benchmarks of one machine share, so that they do not measure each other. It is
 * held while something is measured and let go of between, so that others have their turns.
 */

import { OperatingError } from "../../../shared/base/errors.ts";

/** Held for at most this long at a stretch, plus what cannot be interrupted. */
const HELD_SECS_MAX = 120;
/** Others hold it for minutes each. */
const WAIT_SECS_MAX = 3_600;
/** Whoever waits takes it meanwhile. */
const PAUSE_MS = 500;

export class MachineLock implements AsyncDisposable {
  readonly #path: string | undefined;
  #file: Deno.FsFile | undefined;
  #sinceMs = 0;

  /** Without a path nothing is ever waited for. */
  constructor(path: string | undefined) {
    this.#path = path;
  }

  /** Between two measurements: takes the lock, or gives it up and takes it again after a while. */
  async turn(): Promise<void> {
    if (this.#path === undefined) return;
    if (this.#file !== undefined) {
      if (performance.now() - this.#sinceMs < HELD_SECS_MAX * 1_000) return;
      this.release();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await this.#take(this.#path);
  }

  release(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.release();
    return Promise.resolve();
  }

  /** Waits in the kernel's queue, in which asking again and again would have no place. */
  async #take(path: string): Promise<void> {
    const file = await Deno.open(path, { write: true, create: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), WAIT_SECS_MAX * 1_000);
    });
    const outcome = await Promise.race([file.lock(true), late]);
    clearTimeout(timer);
    if (outcome === "late") {
      throw new OperatingError(
        "deadline_exceeded",
        `Cannot lock ${path} within ${WAIT_SECS_MAX} s: end what holds it, or leave --lock out`,
      );
    }
    this.#file = file;
    this.#sinceMs = performance.now();
  }
}

/**
 * Garbage that a burst of work leaves behind. The runtime collects it while it works on, and not
 * while it has nothing to do: so a process that rests keeps what its last work grew to. Once it has
 * rested for a while, garbage is collected if the process has grown since the last time.
 */

import { garbageLimit } from "../os/garbage.ts";
import { LOOK_MS } from "./memory_keeper.ts";

/** How long nothing may have been at work: a collection stops the thread for some 50 ms. */
export const REST_MS = 2_000;

export interface IdleGarbageOptions {
  readonly residentBytes: () => number;
  /** Whether nothing is at work now. */
  readonly isIdle: () => boolean;
  readonly collect: () => void;
  readonly nowMs: () => number;
}

export class IdleGarbage implements Disposable {
  readonly #options: IdleGarbageOptions;
  readonly #collectAbove: (bytes: number) => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  #idleSinceMs: number | undefined;

  constructor(options: IdleGarbageOptions) {
    this.#options = options;
    this.#collectAbove = garbageLimit({ ...options, leastBytes: Infinity });
  }

  /** Looks now and then, until it is disposed of. */
  start(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  /** Once. */
  look(): void {
    // A process at work is looked at, and left alone.
    this.#collectAbove(this.#hasRested() ? 0 : Infinity);
  }

  #hasRested(): boolean {
    const { isIdle, nowMs } = this.#options;
    this.#idleSinceMs = isIdle() ? this.#idleSinceMs ?? nowMs() : undefined;
    return this.#idleSinceMs !== undefined && nowMs() - this.#idleSinceMs >= REST_MS;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

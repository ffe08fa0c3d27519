/**
 * Garbage that a burst of work leaves behind. The runtime collects it while it works on, and not
 * while it has nothing to do: so a process that rests keeps what its last work grew to. Once it has
 * rested for a while, garbage is collected if the process has grown since the last time.
 */

import { GROWN_BYTES } from "../os/garbage.ts";
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
  #timer: ReturnType<typeof setInterval> | undefined;
  #idleSinceMs: number | undefined;
  /** The least that the process had since the last collection. */
  #leastBytes = Infinity;

  constructor(options: IdleGarbageOptions) {
    this.#options = options;
  }

  /** Looks now and then, until it is disposed of. */
  start(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  /** Once. */
  look(): void {
    const { residentBytes, isIdle, collect, nowMs } = this.#options;
    const bytes = residentBytes();
    this.#leastBytes = Math.min(this.#leastBytes, bytes);
    if (!isIdle()) {
      this.#idleSinceMs = undefined;
      return;
    }
    this.#idleSinceMs ??= nowMs();
    if (nowMs() - this.#idleSinceMs < REST_MS) return;
    if (bytes - this.#leastBytes < GROWN_BYTES) return;
    collect();
    // What is in use now is no garbage the next time, either.
    this.#leastBytes = residentBytes();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

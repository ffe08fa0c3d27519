/**
 * Collects garbage while memory is near the limit. The runtime's collector lets the heap of a busy
 * server triple before it looks, and does not know of a limit. Memory is looked at where requests
 * come in, since they are what fills it: far from the limit that costs a look each `LOOK_MS`.
 */

import type { Clock } from "../../shared/os/clock.ts";

/** Requests in between are not looked at. */
const LOOK_MS = 100;
/** A collection takes 20 to 30 ms, in which nobody is answered. */
const COLLECT_MS = 1_000;

export interface GarbageWatchOptions {
  /** Garbage is collected with more resident bytes than that. */
  readonly aboveBytes: number;
  readonly residentBytes: () => number;
  readonly collect: () => void;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export class GarbageWatch {
  readonly #options: GarbageWatchOptions;
  #nextMs = -Infinity;

  constructor(options: GarbageWatchOptions) {
    this.#options = options;
  }

  /** To be called with each request. */
  look(): void {
    const { aboveBytes, residentBytes, collect, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextMs) return;
    const isNear = residentBytes() > aboveBytes;
    if (isNear) collect();
    this.#nextMs = clock.monotonicMs() + (isNear ? COLLECT_MS : LOOK_MS);
  }
}

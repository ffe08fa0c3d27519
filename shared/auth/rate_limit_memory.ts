/**
 * A token bucket per key, in this process.
 *
 * A bucket is one number, the time at which it will be full again; "full at or before now" is the
 * same as no bucket. Taking one moves that time by one interval; what may lie ahead at most is the
 * burst. The ingest server's `ingest/rate_limit/rate_limit_redis.ts` computes the same in Redis.
 */

import type { Clock } from "../os/clock.ts";

export interface Rate {
  /** Requests a second in the long run; above 0. */
  readonly perSec: number;
  /** Requests at once from a full bucket; above 0. */
  readonly burst: number;
}

/**
 * About 35 MB when all are in use. Past it the one least recently used is forgotten.
 */
const BUCKETS_MAX = 100_000;

export class MemoryBuckets {
  readonly #intervalMs: number;
  readonly #aheadMsMax: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #bucketsMax: number;
  /** The bucket that nobody took from for longest comes first. */
  readonly #fullAtMs = new Map<string, number>();

  constructor(rate: Rate, options: { clock: Pick<Clock, "monotonicMs">; bucketsMax?: number }) {
    this.#intervalMs = 1_000 / rate.perSec;
    this.#aheadMsMax = rate.burst * this.#intervalMs;
    this.#clock = options.clock;
    this.#bucketsMax = options.bucketsMax ?? BUCKETS_MAX;
  }

  /** How many buckets are kept: never more than `bucketsMax`. */
  get size(): number {
    return this.#fullAtMs.size;
  }

  /**
   * Takes one from the bucket of `key`: 0, or the milliseconds until there is one again, taking
   * nothing.
   */
  take(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#fullAtMs.get(key);
    const nextMs = Math.max(known ?? nowMs, nowMs) + this.#intervalMs;
    const waitMs = nextMs - nowMs - this.#aheadMsMax;
    if (waitMs > TOLERANCE_MS) return waitMs;
    if (known === undefined) this.#makeRoom(nowMs);
    // Out and in again: the bucket that nobody took from for longest stays first.
    this.#fullAtMs.delete(key);
    this.#fullAtMs.set(key, nextMs);
    return 0;
  }

  /**
   * Drops the oldest two buckets for each new one, so that idle ones go and no request waits for a
   * walk over all. A full bucket is dropped without loss. At the bound the first goes whatever it
   * holds, which gives its owner a burst.
   */
  #makeRoom(nowMs: number): void {
    let looked = 0;
    for (const [key, fullAtMs] of this.#fullAtMs) {
      const crowded = this.#fullAtMs.size >= this.#bucketsMax;
      if (fullAtMs > nowMs && !crowded) return;
      this.#fullAtMs.delete(key);
      if (++looked === 2) return;
    }
  }
}

/** Sums of fractions of a millisecond are not exact; a microsecond is nobody's advantage. */
const TOLERANCE_MS = 0.001;

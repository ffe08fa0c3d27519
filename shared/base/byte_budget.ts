/**
 * How many body bytes a process holds for requests in flight: past the budget requests are refused.
 */

import { assert } from "./assert.ts";
import { formatBytes } from "./bytes.ts";
import { OperatingError } from "./errors.ts";

/** Counts the bytes that all holds have together, and refuses what would pass `bytesMax`. */
export class ByteBudget {
  readonly bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Bytes held now. */
  get used(): number {
    return this.#used;
  }

  /** A hold of nothing; dispose it when the request is done. */
  hold(): ByteHold {
    return new ByteHold(this);
  }

  /** Errors: `unavailable` when `bytes` more would pass the budget. */
  take(bytes: number): void {
    if (this.#used + bytes > this.bytesMax) {
      throw new OperatingError(
        "unavailable",
        `requests in flight hold ${this.#used} of ${this.bytesMax} body bytes, ` +
          `${bytes} more do not fit: send again shortly`,
        { reason: "bodies_in_flight", retryAfterSecs: 1 },
      );
    }
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

/** A budget of which no more than this share is held is ample. */
const AMPLE_SHARE = 1 / 4;

/** One request's share of a `ByteBudget`. */
export class ByteHold implements Disposable {
  readonly #budget: ByteBudget;
  #held = 0;
  /** What `reserve` took and `grow` did not use yet; part of `#held`. */
  #reserved = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Errors: those of `take`; `too_large` for a request that fits into no budget, however empty. */
  grow(bytes: number): void {
    const used = Math.min(bytes, this.#reserved);
    const more = bytes - used;
    if (this.#held + more > this.#budget.bytesMax) throw tooLargeAlone(this.#budget.bytesMax);
    this.#budget.take(more);
    this.#held += more;
    this.#reserved -= used;
  }

  /**
   * Takes ahead what `grow` is expected to ask for. With what it has already that is at most half
   * of the budget: two of the largest requests fit. So a request that has begun gets to its end,
   * instead of being refused beside others that are as far as it is. Errors: those of `take`.
   */
  reserve(bytes: number): void {
    const room = Math.floor(this.#budget.bytesMax / 2) - this.#held;
    const taken = Math.max(0, Math.min(bytes, room));
    this.#budget.take(taken);
    this.#held += taken;
    this.#reserved += taken;
  }

  /** Gives back what was reserved and not used. */
  settle(): void {
    const unused = this.#reserved;
    this.#reserved = 0;
    this.shrink(unused);
  }

  /** Whether much of the budget is left beside all requests' holds. */
  get isAmple(): boolean {
    return this.#budget.used <= AMPLE_SHARE * this.#budget.bytesMax;
  }

  /** Gives back some of what `grow` took. */
  shrink(bytes: number): void {
    assert(bytes <= this.#held, "a hold gives back no more than it took");
    this.#budget.give(bytes);
    this.#held -= bytes;
  }

  [Symbol.dispose](): void {
    this.#budget.give(this.#held);
    this.#held = this.#reserved = 0;
  }
}

function tooLargeAlone(bytesMax: number): OperatingError {
  return new OperatingError(
    "too_large",
    `this request with all that is made of it needs more than the ${
      formatBytes(bytesMax)
    } that all requests in ` +
      "flight may hold together: send smaller ones",
    { reason: "bodies_in_flight" },
  );
}

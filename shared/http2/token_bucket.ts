/** An allowance that fills again at an even rate, up to its bound. */

export class TokenBucket {
  readonly #max: number;
  readonly #perMs: number;
  #left: number;
  #filledMs: number;

  /** Full at the beginning. */
  constructor(options: { max: number; perMs: number; nowMs: number }) {
    this.#max = options.max;
    this.#perMs = options.perMs;
    this.#left = options.max;
    this.#filledMs = options.nowMs;
  }

  /** Takes `count`, whether or not it is there; false when it was not. */
  take(count: number): boolean {
    this.#left -= count;
    return this.#left >= 0;
  }

  /** What was taken and has not come back. */
  get spent(): number {
    return this.#max - this.#left;
  }

  give(count: number): void {
    this.#left = Math.min(this.#max, this.#left + count);
  }

  /** Adds what the time since the last call is worth. */
  fill(nowMs: number): void {
    this.give((nowMs - this.#filledMs) * this.#perMs);
    this.#filledMs = nowMs;
  }
}

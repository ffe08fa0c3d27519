/**
 * When asking indexes is worth it: a lookup costs time, and what it leaves out saves some. Lookups
 * go on as long as all of them together took less than an allowance. The allowance is what they
 * saved, a millisecond, and a tenth of the scan that they are for, by the estimate of
 * `cost/cost.ts`. So a statement whose words are in every row group pays little more than a tenth,
 * and one whose words are rare asks every file.
 */

/** Share of the estimated scan that lookups may cost in vain. */
const SHARE_MAX = 0.1;
/** Milliseconds that are always allowed. */
const ALLOWED_MS = 1;

/** The allowance of one statement, in milliseconds. */
export class LookupAllowance {
  readonly #startMs: number;
  #allowedMs: number;

  /** `scanMs`: estimate of the whole scan. */
  constructor(private readonly nowMs: () => number, scanMs: number) {
    this.#startMs = nowMs();
    this.#allowedMs = ALLOWED_MS + scanMs * SHARE_MAX;
  }

  get isLeft(): boolean {
    return this.nowMs() - this.#startMs <= this.#allowedMs;
  }

  /** Tells that a lookup spared the scan so much, by estimate. */
  saved(ms: number): void {
    this.#allowedMs += ms;
  }
}

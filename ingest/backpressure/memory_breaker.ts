/**
 * Refuses rows while the process uses too much memory. Memory is looked at in intervals, so a
 * request costs one comparison; what comes between two looks is bounded by the budget of bodies.
 */

import { formatBytes } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../shared/os/clock.ts";

export interface BreakerOptions {
  /** At or above, rows are refused. */
  readonly limitBytes: number;
  readonly sampleSecs: number;
  /** Resident memory of the process now. */
  readonly residentBytes: () => number;
  /** Frees what nobody uses: called before rows are refused. */
  readonly collect: () => void;
  readonly clock: Clock;
}

/** docs/api/ingest.md#statuses: hints are 1 to 5 seconds. */
const RETRY_AFTER_SECS_MAX = 5;

export class MemoryBreaker implements AsyncDisposable {
  readonly #options: BreakerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #residentBytes = 0;
  #isOpen = false;

  /** Looks once now, then in intervals until disposed. */
  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#sample();
    this.#running = this.#loop();
  }

  /** Whether rows are refused, as of the last look. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Errors: `unavailable` with a retry hint while memory is at or above the limit. */
  requireClosed(): void {
    if (!this.#isOpen) return;
    const { limitBytes, sampleSecs } = this.#options;
    throw new OperatingError(
      "unavailable",
      `cannot take rows now: this server uses ${formatBytes(this.#residentBytes)} of memory, ` +
        `at or above its limit of ${formatBytes(limitBytes)} (--ingest-mem-limit-mib); ` +
        `send them again later`,
      { reason: "memory_breaker", retryAfterSecs: Math.min(sampleSecs, RETRY_AFTER_SECS_MAX) },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { clock, sampleSecs } = this.#options;
    const { signal } = this.#stopping;
    for (;;) {
      try {
        await clock.sleep(sampleSecs * 1_000, { signal });
      } catch {
        return;
      }
      this.#sample();
    }
  }

  #sample(): void {
    const { residentBytes, limitBytes, collect } = this.#options;
    this.#residentBytes = residentBytes();
    if (this.#residentBytes >= limitBytes) {
      collect();
      this.#residentBytes = residentBytes();
    }
    const isOpen = this.#residentBytes >= limitBytes;
    if (isOpen !== this.#isOpen) {
      const log = getLogger(["svc", "ingest"]);
      const values = {
        used: formatBytes(this.#residentBytes),
        limit: formatBytes(limitBytes),
      };
      if (isOpen) log.warn("memory breaker refuses rows: {used} of {limit} used", values);
      else log.info("memory breaker takes rows again: {used} of {limit} used", values);
    }
    this.#isOpen = isOpen;
  }
}

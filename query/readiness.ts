/**
 * Whether the server can answer queries. It is found out in the background, so that a probe never
 * waits. An engine or catalog that hangs makes the last result old, and an old result is "not
 * ready".
 */

import { messageOf } from "../shared/base/errors.ts";
import type { Clock } from "../shared/os/clock.ts";

/** What is asked, and by which clock. */
export interface ReadinessOptions {
  /** Throws when the server could not answer now. */
  readonly ping: () => Promise<void>;
  /** What is known without asking: why the server cannot answer now. */
  readonly problem?: () => string | undefined;
  readonly clock: Clock;
}

const INTERVAL_MS = 2_000;
/** A result older than this no longer counts. */
const AGE_MS_MAX = 10_000;
const STOP_MS_MAX = 1_000;

/** The state behind `/readyz`. Disposing it stops the checks. */
export class Readiness implements AsyncDisposable {
  readonly #ping: () => Promise<void>;
  readonly #known: () => string | undefined;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #checkedMs: number | undefined;
  #problem: string | undefined = "the first check has not ended yet";

  /** Starts checking. */
  constructor(options: ReadinessOptions) {
    this.#ping = options.ping;
    this.#known = options.problem ?? (() => undefined);
    this.#clock = options.clock;
    this.#running = this.#checkForever();
  }

  /** Why the server is not ready; undefined when it is. */
  get problem(): string | undefined {
    if (this.#stop.signal.aborted) return "the server is stopping";
    const known = this.#known();
    if (known !== undefined) return known;
    if (this.#problem !== undefined || this.#checkedMs === undefined) return this.#problem;
    const ageMs = this.#clock.monotonicMs() - this.#checkedMs;
    if (ageMs <= AGE_MS_MAX) return undefined;
    return `engine and catalog have not answered for ${Math.round(ageMs / 1000)} s`;
  }

  async #checkForever(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#ping();
        this.#problem = undefined;
      } catch (error) {
        this.#problem = messageOf(error);
      }
      this.#checkedMs = this.#clock.monotonicMs();
      await this.#clock.sleep(INTERVAL_MS, { signal }).catch(() => {}); // Stopped while asleep.
    }
  }

  /**
   * Makes the server "not ready" for good, so that load balancers send requests elsewhere.
   */
  end(): void {
    this.#stop.abort();
  }

  /** Stops checking; does not wait for a check that hangs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
    const ended = new AbortController();
    const patience = this.#clock.sleep(STOP_MS_MAX, { signal: ended.signal }).catch(() => {});
    await Promise.race([this.#running, patience]);
    ended.abort();
  }
}

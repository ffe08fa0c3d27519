/**
 * A drain whose catalog need not be there when it starts. Other roles open it when they first need
 * it, too. So all roles may start at once, in any order. A failure that will not pass by itself
 * (wrong password, no rights) is logged and ends the start.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../shared/base/errors.ts";
import type { Clock } from "../shared/os/clock.ts";
import { FailureLog } from "../shared/logging/failure_log.ts";

const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;

interface Drain extends AsyncDisposable {
  wake(): void;
}

export class PatientDrain implements AsyncDisposable {
  readonly #start: () => Promise<Drain>;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #failureLog: FailureLog;
  #drain: Drain | undefined;
  #problem: string | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(start: () => Promise<Drain>, clock: Clock) {
    this.#start = start;
    this.#clock = clock;
    const log = getLogger(["svc", "compactor"]);
    this.#failureLog = new FailureLog({ clock, log, over: "the catalog answers" });
  }

  /** Tries once; goes on by itself while it is `unavailable`. Errors: all others of `start`. */
  static async open(start: () => Promise<Drain>, clock: Clock): Promise<PatientDrain> {
    const drain = new PatientDrain(start, clock);
    if (!await drain.#attempt((error) => isOperatingError(error, "unavailable"))) {
      drain.#starting = drain.#goOn();
    }
    return drain;
  }

  /** Why it does nothing yet; undefined once it has started. */
  get problem(): string | undefined {
    return this.#problem;
  }

  wake(): void {
    this.#drain?.wake();
  }

  stop(): Promise<void> {
    return this.#stopping ??= this.#end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.#starting;
    await this.#drain?.[Symbol.asyncDispose]();
  }

  /** Whether it has started. Throws what does not pass. */
  async #attempt(passes: (error: unknown) => boolean): Promise<boolean> {
    try {
      this.#drain = await this.#start();
    } catch (error) {
      if (!passes(error)) throw error;
      this.#problem = messageOf(error);
      this.#failureLog.failed("start", "start to drain and maintain", error);
      return false;
    }
    this.#problem = undefined;
    this.#failureLog.worked("start");
    return true;
  }

  /** Nobody is there to hear of an error any more but who reads the log and `/readyz`. */
  async #goOn(): Promise<void> {
    const { signal } = this.#stop;
    for (let pauseMs = PAUSE_MS_MIN; !signal.aborted;) {
      await this.#clock.sleep(pauseMs, { signal }).catch(() => {});
      if (signal.aborted || await this.#attempt(() => true)) return;
      pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs);
    }
  }
}

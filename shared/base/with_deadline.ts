/** A deadline for work that has no signal of its own to obey. */

import { startDeadline } from "./deadline_timers.ts";
import { OperatingError } from "./errors.ts";

export interface DeadlineOptions {
  readonly msMax: number;
  /** What did not finish, with the remedy: the error's text is `<what> within <msMax> ms`. */
  readonly what: string;
}

/** What work can ask about its own deadline. */
export interface Late {
  /** Whether it has passed. */
  readonly isLate: boolean;
  /** Throws the error that the deadline ended with. */
  throwIfLate(): void;
  /** Aborts with that error. It is made when it is asked for. */
  readonly signal: AbortSignal;
}

/**
 * The result of `work`, or `deadline_exceeded` once `msMax` passed; the signal given to `work`
 * aborts then. Work that ignores it goes on unseen; its late rejection is swallowed.
 */
export function withDeadline<T>(
  options: DeadlineOptions,
  work: (late: Late) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = new Deadline(options);
    const timer = startDeadline(options.msMax, () => {
      // In this order: work that ends well because of the abort is late all the same.
      reject(deadline.error);
      deadline.end();
    });
    try {
      work(deadline).then((result) => {
        timer.stop();
        resolve(result);
      }, (error) => {
        timer.stop();
        reject(error);
      });
    } catch (error) {
      timer.stop();
      reject(error);
    }
  });
}

class Deadline implements Late {
  readonly #options: DeadlineOptions;
  #error: OperatingError | undefined;
  #controller: AbortController | undefined;
  isLate = false;

  constructor(options: DeadlineOptions) {
    this.#options = options;
  }

  get error(): OperatingError {
    const { what, msMax } = this.#options;
    return this.#error ??= new OperatingError("deadline_exceeded", `${what} within ${msMax} ms`, {
      reason: "deadline",
    });
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.isLate) this.#controller.abort(this.error);
    return this.#controller.signal;
  }

  throwIfLate(): void {
    if (this.isLate) throw this.error;
  }

  end(): void {
    this.isLate = true;
    this.#controller?.abort(this.error);
  }
}

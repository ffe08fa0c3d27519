/** A deadline for work that has no signal of its own to obey. */

import { OperatingError } from "./errors.ts";

export interface DeadlineOptions {
  readonly msMax: number;
  /** What did not finish, with the remedy: the error's text is `<what> within <msMax> ms`. */
  readonly what: string;
}

/**
 * The result of `work`, or `deadline_exceeded` once `msMax` passed; the signal given to `work`
 * aborts then. Work that ignores the signal goes on unseen; its late rejection is swallowed.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new OperatingError(
        "deadline_exceeded",
        `${options.what} within ${options.msMax} ms`,
        { reason: "deadline" },
      );
      // In this order: work that ends well because of the abort is late all the same.
      reject(error);
      controller.abort(error);
    }, options.msMax);
  });
  const working = work(controller.signal);
  try {
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
    working.catch(() => {});
  }
}

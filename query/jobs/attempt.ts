/**
 * Writes to the job store that a run waits for. Each attempt has its deadline, and a few of them
 * follow one another.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { ATTEMPT_MS_MAX, ATTEMPT_PAUSES_MS } from "./limits.ts";

/**
 * Runs `action` within the deadline of one attempt. Errors: those of `action`; `unavailable` past
 * the deadline. What `action` does after that may still take effect.
 */
export async function attempt<T>(clock: Clock, action: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = clock.sleep(ATTEMPT_MS_MAX, { signal: over.signal }).then(() => {
    throw new OperatingError("unavailable", `The job store did not answer in ${ATTEMPT_MS_MAX} ms`);
  });
  late.catch(() => {}); // Awoken because the action ended.
  try {
    return await Promise.race([action(), late]);
  } finally {
    over.abort();
  }
}

/**
 * Makes three attempts within half a minute. Once `signal` aborts there are no more pauses: one
 * more attempt, then none. Errors: those of the last attempt.
 */
export async function attempts<T>(
  clock: Clock,
  signal: AbortSignal,
  action: () => Promise<T>,
): Promise<T> {
  for (const pauseMs of ATTEMPT_PAUSES_MS) {
    const isLast = signal.aborted;
    try {
      return await attempt(clock, action);
    } catch (error) {
      if (isLast) throw error;
    }
    await clock.sleep(pauseMs, { signal }).catch(() => {}); // Told to hurry.
  }
  return await attempt(clock, action);
}

/** Asks again and again: soon after something changed, seldom while nothing does. */

import { pause } from "../api/pause.ts";

/** How often is asked. */
export interface PollTimes {
  /** Milliseconds after a change. */
  readonly leastMs: number;
  /** Milliseconds after many answers without one. */
  readonly mostMs: number;
}

const GROWTH = 1.5;

/**
 * Asks at once and then until the signal aborts. `ask` returns whether something changed; what it
 * throws ends the polling unless the signal has aborted. A page in the background is not asked for.
 */
export async function poll(
  ask: () => Promise<boolean>,
  { leastMs, mostMs, signal }: PollTimes & { readonly signal: AbortSignal },
): Promise<void> {
  let waitMs = leastMs;
  while (!signal.aborted) {
    try {
      const hasChanged = document.hidden ? false : await ask();
      waitMs = hasChanged ? leastMs : Math.min(mostMs, GROWTH * waitMs);
      await pause(waitMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

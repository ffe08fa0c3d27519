/** Asks again and again: soon after something changed, seldom while nothing does. */

import { pause } from "../api/pause.ts";
import { isSignedOut } from "../api/session.ts";

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
 * throws ends the polling unless the signal has aborted. A page in the background is not asked for,
 * nor is one whose user does not sign in: each question would open the dialog again.
 */
export async function poll(
  ask: () => Promise<boolean>,
  { leastMs, mostMs, signal }: PollTimes & { readonly signal: AbortSignal },
): Promise<void> {
  let waitMs = leastMs;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const isIdle = document.hidden || (!isFirst && isSignedOut.peek());
      const hasChanged = isIdle ? false : await ask();
      waitMs = hasChanged ? leastMs : Math.min(mostMs, GROWTH * waitMs);
      await pause(waitMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

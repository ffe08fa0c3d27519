/** Whether a limited rate is kept, on machines that stand still at times. */

import { leastOf } from "./least_of.ts";

/** Longer than a bucket of one request a second takes to refill by one. */
const PAUSE_MS = 1_100;

/**
 * How many requests more were answered 200 than a budget of `burst` and one a second has. It is the
 * least of up to five runs, not above 0 where the budget is kept. A machine that stands still lets
 * requests pass unchecked. `send` gives the statuses of requests at once. Each run, counted from 0,
 * needs a budget of its own.
 */
export function overBudget(
  burst: number,
  send: (run: number) => Promise<readonly number[]>,
): Promise<number> {
  return leastOf(1, async (run) => {
    // And those of the next second.
    if (run > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const begunMs = performance.now();
    const statuses = await send(run);
    const most = burst + Math.ceil((performance.now() - begunMs) / 1_000);
    return statuses.filter((status) => status === 200).length - most;
  });
}

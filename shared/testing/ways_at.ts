/**
 * Tests that cross each step of a workload with each way in which it may end. A run takes every
 * second way at each step, and the other ones at the next. `SVC_TEST_EVERY=1` takes all.
 */

const EVERY = Number(Deno.env.get("SVC_TEST_EVERY") ?? 2);

/** The ways that a run takes at step `at`, in their order. */
export function waysAt<T>(ways: readonly T[], at: number): T[] {
  return ways.filter((_, way) => (at + way) % EVERY === 0);
}

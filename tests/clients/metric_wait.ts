/** Waiting for a server to have done something, seen in its metrics: for tests only. */

import type { RunningIngest } from "./running_ingest.ts";

/** Returns once a series of `/metrics` is at least `value`. */
export async function metricReaches(
  ingest: RunningIngest,
  series: string,
  value: number,
): Promise<void> {
  while (!(await ingest.metric(series) >= value)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

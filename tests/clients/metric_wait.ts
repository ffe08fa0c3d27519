/** Waiting for a server to have done something, seen in its metrics: for tests only. */

import { until } from "../../shared/testing/until.ts";
import type { RunningIngest } from "./running_ingest.ts";

/** Returns once a series of `/metrics` is at least `value`; throws when that takes too long. */
export async function metricReaches(
  ingest: RunningIngest,
  series: string,
  value: number,
): Promise<void> {
  let seen = NaN;
  const reached = async () => (seen = await ingest.metric(series)) >= value;
  try {
    await until(reached);
  } catch (cause) {
    throw new Error(`${series} is ${seen}, waited for ${value}`, { cause });
  }
}

/** Metrics of threads that a process has left behind because they do not end their work. */

import { type Clock, SystemClock } from "../os/clock.ts";
import { type LostThread, lostThreads } from "../os/task_thread.ts";
import type { MetricHandles } from "./metrics.ts";
import type { MetricTable } from "./table.ts";

export const LOST_THREAD_METRICS = {
  lostThreads: {
    kind: "gauge",
    name: "svc_lost_threads",
    help:
      "Threads that did not end their work in time and were replaced; each takes a core until " +
      "the process is restarted. what: what they did",
    labels: { what: [] },
  },
  lostThreadSecs: {
    kind: "gauge",
    name: "svc_lost_thread_seconds",
    help: "Since the first of them was left behind",
    labels: { what: [] },
  },
} as const satisfies MetricTable;

/** Has them read at each scrape: those of this process by default. */
export function gaugeLostThreads(
  metrics: MetricHandles<typeof LOST_THREAD_METRICS>,
  { lost = lostThreads, clock = new SystemClock() }: {
    readonly lost?: () => readonly LostThread[];
    readonly clock?: Pick<Clock, "nowMs">;
  } = {},
): void {
  const byWhat = () => Map.groupBy(lost(), ({ what }) => what);
  metrics.lostThreads.allAtScrape(() =>
    [...byWhat()].map(([what, { length }]) => [{ what }, length] as const)
  );
  metrics.lostThreadSecs.allAtScrape(() =>
    [...byWhat()].map(([what, [first]]) =>
      [{ what }, Math.max(0, clock.nowMs() - (first?.sinceMs ?? 0)) / 1_000] as const
    )
  );
}

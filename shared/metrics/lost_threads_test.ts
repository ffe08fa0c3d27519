import assert from "node:assert/strict";
import { gaugeLostThreads, LOST_THREAD_METRICS } from "./lost_threads.ts";
import { createMetrics } from "./metrics.ts";

Deno.test({
  name: "threads that were left behind are counted by what they did, with the age of the first",
  async fn() {
    const metrics = createMetrics(LOST_THREAD_METRICS, { version: "1", role: "compactor" });
    const lost: { what: string; sinceMs: number }[] = [];
    gaugeLostThreads(metrics, { lost: () => lost, clock: { nowMs: () => 100_000 } });
    const shown = async () =>
      (await metrics.render(null)).text.split("\n").filter((line) => /^svc_lost_\w+\{/.test(line));
    assert.deepEqual(await shown(), []);
    lost.push({ what: "writes Parquet", sinceMs: 40_000 });
    lost.push({ what: "makes data files", sinceMs: 50_000 });
    lost.push({ what: "writes Parquet", sinceMs: 60_000 });
    assert.deepEqual(await shown(), [
      'svc_lost_threads{what="writes Parquet"} 2',
      'svc_lost_threads{what="makes data files"} 1',
      'svc_lost_thread_seconds{what="writes Parquet"} 60',
      'svc_lost_thread_seconds{what="makes data files"} 50',
    ]);
  },
});

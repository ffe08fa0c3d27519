/**
 * From acknowledgement to visible in SQL, on the whole stack as processes. 20,000 rows a second go
 * in while one marked row at a time is sent with `wait_for` and looked for until an answer holds
 * it.
 */

import { Stack } from "../apps/stack.ts";
import { type Benchmark, formatCount, formatMs, median, percentile } from "./benchmark.ts";
import { sendSteadily } from "./steady_sender.ts";

const ROWS_PER_SEC = 20_000;
const P99_MS_MAX = 1_000;
const LOOK_MS_MAX = 10_000;

export const FRESHNESS: Benchmark = {
  name: "freshness",
  summary: "from acknowledgement to visible in SQL at 20,000 rows/s",
  sizes: { small: { rows: 0, seconds: 10 }, full: { rows: 0, seconds: 60 } },
  async run({ seconds }) {
    await using stack = await Stack.start();
    const over = new AbortController();
    const load = sendSteadily(stack.ingestUrl, ROWS_PER_SEC, over.signal);
    const delays: number[] = [];
    const end = Date.now() + seconds * 1_000;
    try {
      for (let marker = 0; Date.now() < end; marker += 1) {
        delays.push(await delayOf(stack, `marker-${marker}-of-this-run`));
      }
    } finally {
      over.abort();
    }
    const rate = await load;
    const p99 = percentile(delays, 0.99);
    return [{
      what: `acknowledged → visible, ${formatCount(rate)} rows/s, ${delays.length} samples`,
      ours: `p99 ${formatMs(p99)}, median ${formatMs(median(delays))}`,
      reference: "",
      ratio: "",
      target: `p99 < 1 s at ${formatCount(ROWS_PER_SEC)} rows/s`,
      reached: p99 < P99_MS_MAX && rate >= 0.95 * ROWS_PER_SEC,
    }];
  },
};

/** Milliseconds from the acknowledgement of a row to the first answer that holds it. */
async function delayOf(stack: Stack, marker: string): Promise<number> {
  if (!await stack.sendLogs([marker], { commit: "wait_for" })) {
    throw new Error("the stack refused a marked row");
  }
  const start = performance.now();
  const since = new Date(Date.now() - 60_000).toISOString();
  const sql = `SELECT count(*) FROM events WHERE timestamp >= '${since}' AND raw = '${marker}'`;
  while (performance.now() - start < LOOK_MS_MAX) {
    const answer = await stack.sql(sql);
    if (Number(answer.rows[0]?.[0]) === 1) return performance.now() - start;
  }
  throw new Error(`a row was not visible ${LOOK_MS_MAX} ms after its acknowledgement`);
}

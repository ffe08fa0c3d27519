/**
 * How long a sender waits for `wait_for` at half of the maximum rate, beside one bare write and
 * `fdatasync` of as many bytes on the same disk while nothing else uses it. The bare server at the
 * same rate, in the same run, says how much of the distance is the machine's and the disk's.
 */

import { join } from "node:path";
import { BenchServers } from "./bench_servers.ts";
import { type Benchmark, formatCount, formatMs, formatRatio, percentile } from "./benchmark.ts";
import { driveLoad } from "./drive_load.ts";

const LOAD = { recordsPerRequest: 500, connections: 16 } as const;
/** Closed-loop seconds that find the maximum rate. */
const SEARCH_SECS = 5;
const RATE_SHARE = 0.5;
const RATIO_MAX = 5;
/** Before and after the load, each. */
const SYNCS = 500;

export const LATENCY: Benchmark = {
  name: "latency",
  summary: "wait_for at half of the maximum rate, beside a bare fsync",
  sizes: { small: { rows: 0, seconds: 10 }, full: { rows: 0, seconds: 60 } },
  async run({ seconds }) {
    await using servers = await BenchServers.create("latency");
    const bare = await servers.startBare();
    const { port } = await servers.startIngest();
    const maximum = await driveLoad(port, "/v1/logs", { ...LOAD, seconds: SEARCH_SECS });
    const requestBytes = Math.round(maximum.bytes / maximum.requests);
    const requestsPerSec = RATE_SHARE * maximum.requests / maximum.seconds;

    const syncsMs = bareSyncsMs(join(servers.dir, "before"), requestBytes);
    const half = await driveLoad(port, "/v1/logs", { ...LOAD, seconds, requestsPerSec });
    const bareHalf = await driveLoad(bare.port, "/v1/logs", { ...LOAD, seconds, requestsPerSec });
    syncsMs.push(...bareSyncsMs(join(servers.dir, "after"), requestBytes));

    const syncP99Ms = percentile(syncsMs, 0.99);
    const ratio = half.p99Ms / syncP99Ms;
    const rate = formatCount(requestsPerSec * LOAD.recordsPerRequest);
    return [{
      what: `${rate} rows/s, half of the maximum; ${LOAD.recordsPerRequest} records a request`,
      ours: `p99 ${formatMs(half.p99Ms)}, median ${formatMs(half.p50Ms)} ` +
        `(generator late by p99 ${formatMs(half.lateP99Ms ?? 0)})`,
      reference: `bare fsync p99 ${formatMs(syncP99Ms)}, ` +
        `median ${formatMs(percentile(syncsMs, 0.5))}; bare server p99 ${formatMs(bareHalf.p99Ms)}`,
      ratio: formatRatio(ratio),
      target: `≤ ${formatRatio(RATIO_MAX)}`,
      reached: ratio <= RATIO_MAX,
    }];
  },
};

/** Milliseconds of each append of `bytes` with its `fdatasync`, one after the other on a new file. */
function bareSyncsMs(path: string, bytes: number): number[] {
  const block = crypto.getRandomValues(new Uint8Array(65_536));
  const body = Uint8Array.from({ length: bytes }, (_, i) => block[i % block.length] ?? 0);
  using file = Deno.openSync(path, { createNew: true, write: true });
  return Array.from({ length: SYNCS }, () => {
    const start = performance.now();
    for (let at = 0; at < bytes;) at += file.writeSync(body.subarray(at));
    file.syncDataSync();
    return performance.now() - start;
  });
}

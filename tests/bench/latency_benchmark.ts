/**
 * How long a sender waits for `wait_for` at half of the maximum rate, beside one bare write and
 * `fdatasync` of as many bytes on the same disk while nothing else uses it. The bare server at the
 * same rate, in the same run, says how much of the distance is the machine's and the disk's.
 *
 * A machine's speed changes within a run, so all of them take turns: each round finds the maximum anew.
 * Bare syncs begin at the distances of the requests, and each counts for itself: a stall is one slow sync,
 * and a slow request for each that was due meanwhile.
 */

import { join } from "node:path";
import { BenchServers } from "./bench_servers.ts";
import { type Benchmark, formatCount, formatMs, formatRatio, percentile } from "./benchmark.ts";
import { driveLoad, type LoadReport } from "./drive_load.ts";
import { nowMs, sleepUntil } from "./metronome.ts";

const LOAD = { recordsPerRequest: 500, connections: 16 } as const;
const ROUNDS = 5;
/** Closed-loop seconds before the first round, for the server to be as fast as it gets. */
const WARM_UP_SECS = 3;
/** Closed-loop seconds of each round that find the maximum rate. */
const SEARCH_SECS = 2;
const RATE_SHARE = 0.5;
const RATIO_MAX = 5;
/** Before and after the load of each round. */
const SYNC_SECS = 0.5;

export const LATENCY: Benchmark = {
  name: "latency",
  summary: "wait_for at half of the maximum rate, beside a bare fsync",
  sizes: { small: { rows: 0, seconds: 10 }, full: { rows: 0, seconds: 60 } },
  async run({ seconds }) {
    await using servers = await BenchServers.create("latency");
    const bare = await servers.startBare();
    const { port } = await servers.startIngest();
    await driveLoad(port, "/v1/logs", { ...LOAD, seconds: WARM_UP_SECS });
    const half: LoadReport[] = [];
    const bareHalf: LoadReport[] = [];
    const syncsMs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const maximum = await driveLoad(port, "/v1/logs", { ...LOAD, seconds: SEARCH_SECS });
      const requestsPerSec = RATE_SHARE * maximum.requests / maximum.seconds;
      const load = { ...LOAD, seconds: seconds / ROUNDS, requestsPerSec };
      const syncs = { bytes: Math.round(maximum.bytes / maximum.requests), requestsPerSec };
      syncsMs.push(...bareSyncsMs(join(servers.dir, `before-${round}`), syncs));
      half.push(await driveLoad(port, "/v1/logs", load));
      syncsMs.push(...bareSyncsMs(join(servers.dir, `after-${round}`), syncs));
      bareHalf.push(await driveLoad(bare.port, "/v1/logs", load));
    }

    const tookMs = half.flatMap((report) => report.tookMs ?? []);
    const bareTookMs = bareHalf.flatMap((report) => report.tookMs ?? []);
    const p99Ms = percentile(tookMs, 0.99);
    const syncP99Ms = percentile(syncsMs, 0.99);
    const ratio = p99Ms / syncP99Ms;
    const rate = formatCount(half.reduce((sum, { rows }) => sum + rows, 0) / seconds);
    const lateMs = Math.max(...half.map((report) => report.lateP99Ms ?? 0));
    return [{
      what: `${rate} rows/s, half of the maximum; ${LOAD.recordsPerRequest} records a request`,
      ours: `p99 ${formatMs(p99Ms)}, median ${formatMs(percentile(tookMs, 0.5))} ` +
        `(generator late by p99 ${formatMs(lateMs)})`,
      reference: `bare fsync p99 ${formatMs(syncP99Ms)}, ` +
        `median ${formatMs(percentile(syncsMs, 0.5))}; ` +
        `bare server p99 ${formatMs(percentile(bareTookMs, 0.99))}`,
      ratio: formatRatio(ratio),
      target: `≤ ${formatRatio(RATIO_MAX)}`,
      reached: ratio <= RATIO_MAX,
    }];
  },
};

/** Milliseconds of each append of `bytes` with its `fdatasync` to a new file, begun at even distances. */
function bareSyncsMs(
  path: string,
  { bytes, requestsPerSec }: { readonly bytes: number; readonly requestsPerSec: number },
): number[] {
  const block = crypto.getRandomValues(new Uint8Array(65_536));
  const body = Uint8Array.from({ length: bytes }, (_, i) => block[i % block.length] ?? 0);
  using file = Deno.openSync(path, { createNew: true, write: true });
  const beginMs = nowMs();
  return Array.from({ length: Math.round(SYNC_SECS * requestsPerSec) }, (_, i) => {
    sleepUntil(beginMs + i * 1_000 / requestsPerSec);
    const startMs = nowMs();
    for (let at = 0; at < bytes;) at += file.writeSync(body.subarray(at));
    file.syncDataSync();
    return nowMs() - startMs;
  });
}

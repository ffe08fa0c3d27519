/**
 * How long a sender waits for `wait_for` at half of the maximum rate, beside one bare write and
 * `fdatasync` of as many bytes on the same disk while nothing else uses it. The bare server at the
 * same rate, in the same run, says how much of the distance is the machine's and the disk's.
 *
 * A machine's speed changes within a run, so all of them take turns: each round finds the maximum anew, and is
 * compared with its own syncs. The ratio is the median of the rounds': one stall of the machine is one round's.
 * Bare syncs begin at the distances of the requests, and each counts for itself: a stall is one slow sync,
 * and a slow request for each that was due meanwhile.
 */

import { join } from "node:path";
import { BenchServers } from "./bench_servers.ts";
import {
  type Benchmark,
  formatCount,
  formatMs,
  formatRatio,
  median,
  percentile,
} from "./benchmark.ts";
import { driveLoad, type LoadReport } from "./drive_load.ts";
import { nowMs, sleepUntil } from "./metronome.ts";

const LOAD = { recordsPerRequest: 500, connections: 16 } as const;
const ROUNDS = 9;
/** Closed-loop seconds before the first round, for the server to be as fast as it gets. */
const WARM_UP_SECS = 3;
/** Closed-loop seconds of each round that find the maximum rate. */
const SEARCH_SECS = 2;
const RATE_SHARE = 0.5;
const RATIO_MAX = 5;

interface Round {
  readonly load: LoadReport;
  readonly bare: LoadReport;
  /** Before and after the load, together as many as its requests. */
  readonly syncsMs: readonly number[];
}

export const LATENCY: Benchmark = {
  name: "latency",
  summary: "wait_for at half of the maximum rate, beside a bare fsync",
  sizes: { small: { rows: 0, seconds: 10 }, full: { rows: 0, seconds: 60 } },
  async run({ seconds }) {
    await using servers = await BenchServers.create("latency");
    const bare = await servers.startBare();
    const { port } = await servers.startIngest();
    await driveLoad(port, "/v1/logs", { ...LOAD, seconds: WARM_UP_SECS });
    const rounds: Round[] = [];
    for (let at = 0; at < ROUNDS; at += 1) {
      const maximum = await driveLoad(port, "/v1/logs", { ...LOAD, seconds: SEARCH_SECS });
      const requestsPerSec = RATE_SHARE * maximum.requests / maximum.seconds;
      const load = { ...LOAD, seconds: seconds / ROUNDS, requestsPerSec };
      const bytes = Math.round(maximum.bytes / maximum.requests);
      const syncs = { bytes, requestsPerSec, seconds: load.seconds / 2 };
      const before = bareSyncsMs(join(servers.dir, `before-${at}`), syncs);
      const ours = await driveLoad(port, "/v1/logs", load);
      const after = bareSyncsMs(join(servers.dir, `after-${at}`), syncs);
      rounds.push({
        load: ours,
        bare: await driveLoad(bare.port, "/v1/logs", load),
        syncsMs: [...before, ...after],
      });
    }

    const ratio = median(
      rounds.map(({ load, syncsMs }) => load.p99Ms / percentile(syncsMs, 0.99)),
    );
    const all = rounds.flatMap(({ load }) => load.tookMs ?? []);
    const syncsMs = rounds.flatMap((round) => round.syncsMs);
    const rows = rounds.reduce((sum, { load }) => sum + load.rows, 0);
    const p99Of = (parts: readonly number[]) => `p99 ${formatMs(median(parts))}`;
    return [{
      what: `${formatCount(rows / seconds)} rows/s, half of the maximum; ` +
        `${LOAD.recordsPerRequest} records a request; medians of ${ROUNDS} rounds`,
      ours: `${p99Of(rounds.map(({ load }) => load.p99Ms))}, ` +
        `median ${formatMs(percentile(all, 0.5))}; ` +
        `of all rounds p99 ${formatMs(percentile(all, 0.99))} ` +
        `(generator late by ${p99Of(rounds.map(({ load }) => load.lateP99Ms ?? 0))})`,
      reference: `bare fsync ${p99Of(rounds.map((round) => percentile(round.syncsMs, 0.99)))}, ` +
        `median ${formatMs(percentile(syncsMs, 0.5))}; ` +
        `bare server ${p99Of(rounds.map((round) => round.bare.p99Ms))}`,
      ratio: formatRatio(ratio),
      target: `≤ ${formatRatio(RATIO_MAX)}`,
      reached: ratio <= RATIO_MAX,
    }];
  },
};

/** Milliseconds of each append of `bytes` with its `fdatasync` to a new file, begun at even distances. */
function bareSyncsMs(
  path: string,
  { bytes, requestsPerSec, seconds }: {
    readonly bytes: number;
    readonly requestsPerSec: number;
    readonly seconds: number;
  },
): number[] {
  const block = crypto.getRandomValues(new Uint8Array(65_536));
  const body = Uint8Array.from({ length: bytes }, (_, i) => block[i % block.length] ?? 0);
  using file = Deno.openSync(path, { createNew: true, write: true });
  const beginMs = nowMs();
  return Array.from({ length: Math.round(seconds * requestsPerSec) }, (_, i) => {
    sleepUntil(beginMs + i * 1_000 / requestsPerSec);
    const startMs = nowMs();
    for (let at = 0; at < bytes;) at += file.writeSync(body.subarray(at));
    file.syncDataSync();
    return nowMs() - startMs;
  });
}

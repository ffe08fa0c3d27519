/**
 * How long a sender waits for `wait_for` at half of the maximum rate. Beside it stands one bare
 * write and `fdatasync` of as many bytes on the same disk while nothing else uses it. The bare
 * server at the same rate, in the same run, says how much of the distance is the machine's and the
 * disk's.
 *
 * A machine's speed changes within a run, so all of them take turns: each round finds the maximum
 * anew, and is compared with its own syncs. The ratio is the median of the rounds': one stall of
 * the machine is one round's. Bare syncs begin at the distances of the requests, and each counts
 * for itself. A stall is one slow sync, and a slow request for each that was due meanwhile.
 *
 * A host that runs others on its processors halts this machine for tens of milliseconds. So rounds
 * are made until there are enough of which it took nothing to speak of, or there have been too
 * many. The rounds of which it took least are compared, whatever their figures.
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
import { withStolenShare } from "./stolen_time.ts";

const LOAD = { recordsPerRequest: 500, connections: 16 } as const;
/** Rounds that are compared. */
const ROUNDS = 9;
/** Rounds that are made in search of them. */
const ROUNDS_MAX = 36;
/** Up to here a round counts as undisturbed: 2.5 ms of each second of a processor. */
const STOLEN_SHARE_MAX = 0.0025;
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
  /** What the host took of the processors' time meanwhile. */
  readonly stolenShare: number;
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
    const made: Round[] = [];
    const undisturbed = () => made.filter((round) => round.stolenShare <= STOLEN_SHARE_MAX).length;
    while (undisturbed() < ROUNDS && made.length < ROUNDS_MAX) {
      const parts = {
        port,
        barePort: bare.port,
        syncPath: join(servers.dir, `syncs-${made.length}`),
        seconds: seconds / ROUNDS,
      };
      const { value, stolenShare } = await withStolenShare(() => makeRound(parts));
      made.push({ ...value, stolenShare });
    }
    const rounds = made.toSorted((a, b) => a.stolenShare - b.stolenShare).slice(0, ROUNDS);

    const ratio = median(
      rounds.map(({ load, syncsMs }) => load.p99Ms / percentile(syncsMs, 0.99)),
    );
    const tookMs = rounds.flatMap(({ load }) => load.tookMs ?? []);
    const syncsMs = rounds.flatMap((round) => round.syncsMs);
    const rows = rounds.reduce((sum, { load }) => sum + load.rows, 0);
    const stolen = Math.max(...rounds.map(({ stolenShare }) => stolenShare));
    const all = made.flatMap(({ load }) => load.tookMs ?? []);
    const p99Of = (parts: readonly number[]) => `p99 ${formatMs(median(parts))}`;
    return [{
      what: `${formatCount(rows / seconds)} rows/s, half of the maximum; ` +
        `${LOAD.recordsPerRequest} records a request; medians of the ${rounds.length} of ${made.length} rounds ` +
        `of which the host took least (at most ${(100 * stolen).toFixed(1)} % of the processors)`,
      ours: `${p99Of(rounds.map(({ load }) => load.p99Ms))}, ` +
        `median ${formatMs(percentile(tookMs, 0.5))}; ` +
        `of all requests of all rounds p99 ${formatMs(percentile(all, 0.99))} ` +
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

/**
 * Finds the maximum rate, then loads both servers at half of it and syncs at the same distances.
 */
async function makeRound({ port, barePort, syncPath, seconds }: {
  readonly port: number;
  readonly barePort: number;
  /** Where files of bare syncs begin. */
  readonly syncPath: string;
  readonly seconds: number;
}): Promise<Omit<Round, "stolenShare">> {
  const maximum = await driveLoad(port, "/v1/logs", { ...LOAD, seconds: SEARCH_SECS });
  const requestsPerSec = RATE_SHARE * maximum.requests / maximum.seconds;
  const rated = { ...LOAD, seconds, requestsPerSec };
  const bytes = Math.round(maximum.bytes / maximum.requests);
  const syncs = { bytes, requestsPerSec, seconds: seconds / 2 };
  const before = bareSyncsMs(`${syncPath}-before`, syncs);
  const load = await driveLoad(port, "/v1/logs", rated);
  const after = bareSyncsMs(`${syncPath}-after`, syncs);
  const bare = await driveLoad(barePort, "/v1/logs", rated);
  return { load, bare, syncsMs: [...before, ...after] };
}

/**
 * Milliseconds of each append of `bytes` with its `fdatasync` to a new file, begun at even
 * distances.
 */
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

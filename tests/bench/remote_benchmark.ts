/**
 * One work with everything on this disk, and with tables in S3 and a catalog in PostgreSQL. It is a
 * drain with 20 ms added to each request, of a WAL beside it and of a mirror, and ingest with the
 * mirror of its WAL. The servers share the machine's cores with what is measured. So beside the
 * rate of ingest stands what its own process takes of them.
 */

import { join } from "node:path";
import { formatBytes } from "../../shared/base/bytes.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openS3Store } from "../../shared/storage/s3_store.ts";
import { PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { S3Process } from "../../shared/testing/s3_process.ts";
import { mirrorSegments } from "../../shared/wal/mirror/mirror_segments.ts";
import { openSegmentPacker } from "../../shared/wal/mirror/segment_packer.ts";
import { BenchServers, type RunningRole } from "./bench_servers.ts";
import { type Benchmark, type BenchRow, formatCount, formatRatio, median } from "./benchmark.ts";
import { fillWal, runCompactor } from "./drain_benchmark.ts";
import { rowsPerSec } from "./drive_load.ts";
import { processorMs } from "./processor_time.ts";

const WAIT_MS = 20;
const DRAIN_SHARE_MIN = 0.6;
const MIRROR_SHARE_MIN = 0.9;
/** One pair of rounds differs from the next by up to a fifth, to either side. */
const ROUNDS = 7;
/** A round that lasts as long as so many others. */
const LONG_ROUND = 3;
const MIRRORED_MS_MAX = 120_000;
const LOAD = { recordsPerRequest: 500, connections: 16 } as const;

export const REMOTE: Benchmark = {
  name: "remote",
  summary: "drain and ingest with S3 and PostgreSQL beside the same on local disk",
  sizes: { small: { rows: 1_000_000, seconds: 4 }, full: { rows: 4_000_000, seconds: 10 } },
  async run({ rows, seconds }) {
    await using s3 = await S3Process.start();
    return [...await drains(s3, rows), ...await mirror(s3, seconds)];
  },
};

async function drains(s3: S3Process, rows: number): Promise<BenchRow[]> {
  await using postgres = await PostgresProcess.start();
  const local = await drained(rows, () => Promise.resolve({}));
  const storage = async (folder: string, args: readonly string[] = []) => {
    const catalog = await postgres.newDatabase();
    const places = ["--warehouse-url", `s3://warehouse/${folder}`, "--catalog-uri", catalog];
    return { args: [...places, ...args], env: s3.environment };
  };
  const remote = await drained(rows, async () => {
    s3.delayMs = WAIT_MS;
    return await storage("drain");
  });
  s3.delayMs = 0;
  const mirrored = await drained(rows, async (wal) => {
    await mirrorAll(s3, wal, "elsewhere");
    await Deno.remove(wal, { recursive: true });
    s3.delayMs = WAIT_MS;
    return await storage("elsewhere", ["--catalog-claim"]);
  });
  s3.delayMs = 0;
  const row = (what: string, rate: number): BenchRow => ({
    what: `${what}, ${WAIT_MS} ms each request`,
    ours: `${formatCount(rate)} rows/s`,
    reference: `local ${formatCount(local)} rows/s`,
    ratio: formatRatio(rate / local),
    target: `≥ ${formatRatio(DRAIN_SHARE_MIN)}`,
    reached: rate / local >= DRAIN_SHARE_MIN,
  });
  return [
    row(`drain of ${formatCount(rows)} rows to S3 and PostgreSQL`, remote),
    row("the same by a compactor that has the mirror alone", mirrored),
  ];
}

/**
 * Rows per second of a compactor process, its start included; `storage` is called when the WAL is
 * filled.
 */
async function drained(
  rows: number,
  storage: (wal: string) => Promise<Parameters<typeof runCompactor>[1] & object>,
): Promise<number> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-remote-" });
  const wal = join(dir, "wal");
  try {
    await fillWal(wal, rows);
    const { seconds } = await runCompactor(dir, await storage(wal));
    return rows / seconds;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Mirrors as the ingest server does: all that is sealed there. */
async function mirrorAll(s3: S3Process, root: string, folder: string): Promise<void> {
  using packer = openSegmentPacker();
  await mirrorSegments(
    {
      fs: new DenoFileSystem(),
      root,
      store: openS3Store(s3.place(folder), s3.access),
      prefix: "wal-mirror",
      parallel: 2,
      packer,
      onEvent: () => {},
    },
    new Map(),
    new AbortController().signal,
  );
}

/**
 * Rounds of both in turn: what else the machine does falls on both. Each begins when the mirror has
 * caught up.
 */
async function mirror(s3: S3Process, seconds: number): Promise<BenchRow[]> {
  await using servers = await BenchServers.create("mirror");
  const off = await servers.startIngest({ dataDir: join(servers.dir, "off") });
  const on = await servers.startIngest({
    dataDir: join(servers.dir, "on"),
    args: ["--warehouse-url", "s3://warehouse/mirror"],
    env: s3.directEnvironment,
  });
  const rounds: RoundPair[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({
      off: await ingestRound(off, seconds, () => Promise.resolve(NO_LAG)),
      on: await ingestRound(on, seconds, () => catchUp(on)),
    });
  }
  // Past the time for which requests go first: mirroring keeps up at their cost.
  const long = {
    off: await ingestRound(off, LONG_ROUND * seconds, () => Promise.resolve(NO_LAG)),
    on: await ingestRound(on, LONG_ROUND * seconds, () => catchUp(on)),
  };
  const of = (pick: (round: RoundPair) => number) => median(rounds.map(pick));
  const share = of(({ off, on }) => on.rowsPerSec / off.rowsPerSec);
  return [
    {
      what: `ingest with its mirror in S3, median of ${ROUNDS} pairs of rounds`,
      ours: `${formatCount(of(({ on }) => on.rowsPerSec))} rows/s`,
      reference: `without ${formatCount(of(({ off }) => off.rowsPerSec))} rows/s`,
      ratio: formatRatio(share),
      target: `≥ ${formatRatio(MIRROR_SHARE_MIN)}`,
      reached: share >= MIRROR_SHARE_MIN,
    },
    {
      what: "its processor time, until all is mirrored",
      ours: `${of(({ on }) => on.microsPerRow).toFixed(2)} µs a row`,
      reference: `without ${of(({ off }) => off.microsPerRow).toFixed(2)} µs`,
      ratio: formatRatio(of(({ off, on }) => on.microsPerRow / off.microsPerRow)),
      target: "for orientation",
      reached: true,
    },
    {
      what: `what the mirror lacks after ${seconds} s of that load`,
      ours: lagText(rounds.map(({ on }) => on.lag)),
      reference: "",
      ratio: "",
      target: "for orientation",
      reached: true,
    },
    {
      what: `ingest with its mirror for ${LONG_ROUND * seconds} s, ${lagText([long.on.lag])}`,
      ours: `${formatCount(long.on.rowsPerSec)} rows/s`,
      reference: `without ${formatCount(long.off.rowsPerSec)} rows/s`,
      ratio: formatRatio(long.on.rowsPerSec / long.off.rowsPerSec),
      target: "for orientation",
      reached: true,
    },
  ];
}

interface RoundPair {
  readonly off: RoundCost;
  readonly on: RoundCost;
}

interface RoundCost {
  readonly rowsPerSec: number;
  /** Processor time of the server's process, until all is mirrored. */
  readonly microsPerRow: number;
  readonly lag: Lag;
}

/** How far a mirror is behind when the load ends. */
interface Lag {
  readonly bytes: number;
  /** Age of the oldest segment that is not there. */
  readonly secs: number;
  /** Until all is there. */
  readonly catchUpSecs: number;
}

const NO_LAG: Lag = { bytes: 0, secs: 0, catchUpSecs: 0 };

function lagText(lags: readonly Lag[]): string {
  const of = (pick: (lag: Lag) => number) => median(lags.map(pick));
  return `${formatBytes(of(({ bytes }) => bytes))} of up to ${
    of(({ secs }) => secs).toFixed(1)
  } s, ` +
    `there ${of(({ catchUpSecs }) => catchUpSecs).toFixed(1)} s later`;
}

async function ingestRound(
  server: RunningRole,
  seconds: number,
  settled: () => Promise<Lag>,
): Promise<RoundCost> {
  const before = { cpuMs: processorMs(server.pid), rows: await rowsTaken(server) };
  const rate = await rowsPerSec(server.port, "/v1/logs", { ...LOAD, seconds });
  const lag = await settled();
  const rows = await rowsTaken(server) - before.rows;
  return {
    rowsPerSec: rate,
    microsPerRow: (processorMs(server.pid) - before.cpuMs) * 1_000 / rows,
    lag,
  };
}

async function catchUp(server: RunningRole): Promise<Lag> {
  const secs = await metricOf(server, "svc_ingest_mirror_lag_seconds");
  const bytes = await metricOf(server, "svc_ingest_mirror_pending_bytes");
  const start = Date.now();
  while (await metricOf(server, "svc_ingest_mirror_pending_segments") > 0) {
    if (Date.now() - start > MIRRORED_MS_MAX) {
      throw new Error(`the mirror did not catch up within ${MIRRORED_MS_MAX} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return { bytes, secs, catchUpSecs: (Date.now() - start) / 1_000 };
}

function rowsTaken(server: RunningRole): Promise<number> {
  return metricOf(server, "svc_ingest_wal_rows_total");
}

/** The sum over its labels. */
async function metricOf({ metricsPort }: RunningRole, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const samples = text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"));
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}

/**
 * The same work with everything on this disk, and with tables in S3 and a catalog in PostgreSQL: a drain with 20 ms added
 * to each request, and ingest with the mirror of its WAL. The servers share the machine's cores with what is measured.
 */

import { join } from "node:path";
import { PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { S3Process } from "../../shared/testing/s3_process.ts";
import { BenchServers } from "./bench_servers.ts";
import { type Benchmark, type BenchRow, formatCount, formatRatio, median } from "./benchmark.ts";
import { fillWal, runCompactor } from "./drain_benchmark.ts";
import { rowsPerSec } from "./drive_load.ts";

const WAIT_MS = 20;
const DRAIN_SHARE_MIN = 0.6;
const MIRROR_SHARE_MIN = 0.9;
const ROUNDS = 3;
const LOAD = { recordsPerRequest: 500, connections: 16 } as const;

export const REMOTE: Benchmark = {
  name: "remote",
  summary: "drain and ingest with S3 and PostgreSQL beside the same on local disk",
  sizes: { small: { rows: 1_000_000, seconds: 4 }, full: { rows: 4_000_000, seconds: 10 } },
  async run({ rows, seconds }) {
    await using s3 = await S3Process.start();
    return [await drain(s3, rows), await mirror(s3, seconds)];
  },
};

async function drain(s3: S3Process, rows: number): Promise<BenchRow> {
  await using postgres = await PostgresProcess.start();
  const [local, remote] = [
    await drained(rows, () => Promise.resolve({})),
    await drained(rows, async () => {
      s3.delayMs = WAIT_MS;
      const catalog = await postgres.newDatabase();
      const args = ["--warehouse-url", "s3://warehouse/drain", "--catalog-uri", catalog];
      return { args, env: s3.environment };
    }),
  ];
  s3.delayMs = 0;
  const share = remote / local;
  return {
    what: `drain of ${formatCount(rows)} rows to S3 and PostgreSQL, ${WAIT_MS} ms each request`,
    ours: `${formatCount(remote)} rows/s`,
    reference: `local ${formatCount(local)} rows/s`,
    ratio: formatRatio(share),
    target: `≥ ${formatRatio(DRAIN_SHARE_MIN)}`,
    reached: share >= DRAIN_SHARE_MIN,
  };
}

/** Rows per second of a compactor process, its start included. */
async function drained(
  rows: number,
  storage: () => Promise<Parameters<typeof runCompactor>[1] & object>,
): Promise<number> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-remote-" });
  try {
    await fillWal(join(dir, "wal"), rows);
    const { seconds } = await runCompactor(dir, await storage());
    return rows / seconds;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Rounds of both in turn: what else the machine does falls on both. */
async function mirror(s3: S3Process, seconds: number): Promise<BenchRow> {
  await using servers = await BenchServers.create("mirror");
  const off = await servers.startIngest({ dataDir: join(servers.dir, "off") });
  const on = await servers.startIngest({
    dataDir: join(servers.dir, "on"),
    args: ["--warehouse-url", "s3://warehouse/mirror"],
    env: s3.directEnvironment,
  });
  const rates: { off: number; on: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.push({
      off: await rowsPerSec(off.port, "/v1/logs", { ...LOAD, seconds }),
      on: await rowsPerSec(on.port, "/v1/logs", { ...LOAD, seconds }),
    });
  }
  const share = median(rates.map(({ off, on }) => on / off));
  return {
    what: `ingest with its mirror in S3, median of ${ROUNDS} pairs of rounds`,
    ours: `${formatCount(median(rates.map(({ on }) => on)))} rows/s`,
    reference: `without ${formatCount(median(rates.map(({ off }) => off)))} rows/s`,
    ratio: formatRatio(share),
    target: `≥ ${formatRatio(MIRROR_SHARE_MIN)}`,
    reached: share >= MIRROR_SHARE_MIN,
  };
}

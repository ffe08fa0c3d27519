/**
 * What a batch job takes more than the same statement asked directly. It is submitted, waited for
 * and fetched in three requests, in turn with the interactive one. The job store is in a file, and
 * in a PostgreSQL on loopback.
 */

import { PostgresProcess } from "../../shared/testing/postgres_process.ts";
import {
  type Benchmark,
  type BenchRow,
  formatCount,
  formatMs,
  median,
  percentile,
} from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import { buildTable } from "./table_fixture.ts";

const ROUNDS = 100;
const OVERHEAD_MS_MAX = 50;
const WAIT_SECS = 30;
const COUNT = "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 10";
/** Some 5 MB: past what the job store keeps itself. */
const EXPORT = "SELECT timestamp, host, raw FROM events LIMIT 20000";

export const JOBS: Benchmark = {
  name: "jobs",
  summary: "batch jobs beside the same statements asked directly",
  sizes: { small: { rows: 200_000, seconds: 0 }, full: { rows: 1_000_000, seconds: 0 } },
  async run({ rows }): Promise<BenchRow[]> {
    await using table = await buildTable(rows);
    await using postgres = await PostgresProcess.start();
    await using servers = await BenchServers.create("jobs");
    const file = (await servers.startQuery(table.dir)).port;
    const found = [
      await overhead("SELECT 1", file, "job store in a file"),
      await overhead(COUNT, file, `${formatCount(rows)} rows, job store in a file`),
      forOrientation(await overhead(EXPORT, file, "20,000 rows of a result in the warehouse")),
    ];
    await servers.stopLast();
    const uri = await postgres.newDatabase();
    const { port } = await servers.startQuery(table.dir, ["--jobs-postgres-uri", uri]);
    return [...found, await overhead("SELECT 1", port, "job store in PostgreSQL")];
  },
};

/** What grows with the result is no overhead of a job. */
function forOrientation(row: BenchRow): BenchRow {
  return { ...row, target: "for orientation", reached: true };
}

async function overhead(query: string, port: number, where: string): Promise<BenchRow> {
  const direct: number[] = [];
  const batch: number[] = [];
  const limits = { max_rows_returned: 100_000 };
  for (let round = -ROUNDS / 4; round < ROUNDS; round += 1) {
    const directMs = await timed(() => ask(port, "/sql", { query, default_order: false, limits }));
    const batchMs = await timed(() => runJob(port, { query, priority: "batch", limits }));
    if (round < 0) continue;
    direct.push(directMs);
    batch.push(batchMs);
  }
  const more = median(batch) - median(direct);
  return {
    what: `batch job: ${query.slice(0, 40).replace(/ FROM.*/, " …")}, ${where}`,
    ours: `median ${formatMs(median(batch))}, p99 ${formatMs(percentile(batch, 0.99))}`,
    reference: `asked directly ${formatMs(median(direct))}`,
    ratio: `${formatMs(more)} more`,
    target: `≤ ${OVERHEAD_MS_MAX} ms more`,
    reached: more <= OVERHEAD_MS_MAX,
  };
}

/** Runs a job as a client does: without a pause between looks, since a look can wait. */
async function runJob(port: number, body: unknown): Promise<void> {
  const { job_id } = await ask(port, "/sql", body);
  const { status, error } = await ask(port, `/jobs/${job_id}?wait_secs=${WAIT_SECS}`);
  if (status !== "succeeded") throw new Error(`the job is ${status}: ${error}`);
  await ask(port, `/jobs/${job_id}/result`);
}

async function ask(port: number, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

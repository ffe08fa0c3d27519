/**
 * A backlog of sealed segments drained by a compactor process under its own permissions (`--once`,
 * wall time with its start). Beside it stands the memory that it takes for a quarter of the backlog
 * and for all of it.
 */

import { processArguments } from "../../cli/permissions.ts";
import { decodeLogsProtobuf } from "../../ingest/otlp/logs/logs_protobuf.ts";
import { formatBytes } from "../../shared/base/bytes.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { EVENTS_TABLE } from "../../shared/schema/events.ts";
import { DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openWal } from "../../shared/wal/wal.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { type Benchmark, type BenchRow, formatCount, formatRatio } from "./benchmark.ts";
import { otlpLogsBody } from "./otlp_bodies.ts";

const ROWS_PER_SEC_MIN = 300_000;
const MEMORY_GROWTH_MAX = 1.25;
const ROWS_PER_BATCH = 500;
const LANE = { tenant: DEFAULT_TENANT, index: EVENTS_TABLE };

export const DRAIN: Benchmark = {
  name: "drain",
  summary: "sealed segments into a table, by a compactor process",
  sizes: { small: { rows: 2_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    const quarter = await drainBacklog(rows / 4);
    const whole = await drainBacklog(rows);
    const rate = rows / whole.seconds;
    const growth = whole.peakBytes / quarter.peakBytes;
    const lines: BenchRow[] = [{
      what: `${formatCount(rows)} rows of about 320 bytes`,
      ours: `${formatCount(rate)} rows/s`,
      reference: "",
      ratio: "",
      target: `≥ ${formatCount(ROWS_PER_SEC_MIN)} rows/s`,
      reached: rate >= ROWS_PER_SEC_MIN,
    }, {
      what: "peak memory, the whole backlog beside a quarter of it",
      ours: formatBytes(whole.peakBytes),
      reference: formatBytes(quarter.peakBytes),
      ratio: formatRatio(growth),
      target: `≤ ${formatRatio(MEMORY_GROWTH_MAX)}`,
      reached: growth <= MEMORY_GROWTH_MAX,
    }];
    return lines;
  },
};

async function drainBacklog(rows: number): Promise<{ seconds: number; peakBytes: number }> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-drain-" });
  try {
    await fillWal(`${dir}/wal`, rows);
    return await runCompactor(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

export async function fillWal(root: string, rows: number): Promise<void> {
  await using wal = await openWal({
    fs: new DenoFileSystem(),
    clock: new SystemClock(),
    random: new SystemRandom(),
    root,
  });
  const startNs = BigInt(Date.now()) * NS_PER_MS - BigInt(rows) * NS_PER_MS;
  for (let first = 0; first < rows; first += ROWS_PER_BATCH) {
    const body = otlpLogsBody({
      records: ROWS_PER_BATCH,
      first,
      startNs: startNs + BigInt(first) * NS_PER_MS,
    });
    await wal.append(LANE, encodeBatch(decodeLogsProtobuf(body, { nowNs: startNs })), "auto");
  }
}

/**
 * Runs the compactor over the data directory once; `args` and `env` say where its tables are, by
 * default there.
 */
export async function runCompactor(
  dir: string,
  { args = [], env = {} }: {
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<{ seconds: number; peakBytes: number }> {
  const metrics = `127.0.0.1:${freePorts(1)[0]}`;
  const start = performance.now();
  const process = new Deno.Command(Deno.execPath(), {
    args: processArguments("compactor", dir, [
      "--once",
      "--role",
      "drain",
      "--metrics-bind",
      metrics,
      ...args,
    ], env),
    env: { SVC_LOG: "warning", ...env },
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  let peakBytes = 0;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakBytesOf(process.pid));
  }, 50);
  const status = await process.status;
  clearInterval(timer);
  if (!status.success) throw new Error(`the compactor ended with ${status.code}`);
  return { seconds: (performance.now() - start) / 1_000, peakBytes };
}

/** The kernel's high-water mark of resident memory; 0 when the process is gone. */
function peakBytesOf(pid: number): number {
  try {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
    return Number(match?.[1] ?? 0) * 1024;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

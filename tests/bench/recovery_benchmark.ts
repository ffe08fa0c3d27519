/**
 * From SIGKILL to the first answer: an ingest server over a WAL that nobody drains, and a query
 * server over it and over a table of many files. Beside each the same server over a tenth of both.
 * What was active when it was killed is alike, so what the rest costs is the difference.
 */

import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { type Role } from "../../cli/role_places.ts";
import { decodeLogsProtobuf } from "../../ingest/otlp/logs/logs_protobuf.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { segmentPath } from "../../shared/wal/layout.ts";
import { openWal } from "../../shared/wal/wal.ts";
import {
  type Benchmark,
  type BenchRow,
  formatCount,
  formatMs,
  formatRatio,
  median,
} from "./benchmark.ts";
import { otlpLogsBody } from "./otlp_bodies.ts";
import { processorMsOfTree } from "./processor_time.ts";
import { buildTable, START_NS } from "./table_fixture.ts";

const ROUNDS = 3;
/** The smaller place has this share of the larger one's files and WAL. */
const SHARE = 0.1;
const ROWS_A_FILE = 20;
const WAL_BYTES_A_ROW = 5_000;
const ROWS_A_BATCH = 4_000;
/** Bytes of each row of the WAL that do not compress. */
const NOISE_BYTES = 300;
const ANSWER_MS_MAX = 600_000;
const POLL_MS = 10;
const BARS_MS: Readonly<Record<MeasuredRole, number>> = { ingest: 2_000, query: 3_000 };
/** The processor time over all of it, as often as over a tenth. */
const GROWTH_MAX = 1.5;
const LANE = { tenant: DEFAULT_TENANT, index: "events" };
/** The newest rows are in the WAL, the others in the table. */
const NEWEST = "SELECT timestamp, raw FROM events ORDER BY timestamp DESC LIMIT 10";

type MeasuredRole = Exclude<Role, "compactor">;

export const RECOVERY: Benchmark = {
  name: "recovery",
  summary: "from SIGKILL to the first answer, over much WAL and many files, and over a tenth",
  sizes: { small: { rows: 20_000, seconds: 0 }, full: { rows: 200_000, seconds: 0 } },
  /** `rows` are those of the table; the WAL has a gigabyte for each 200,000. */
  async run({ rows }) {
    await using large = await makePlace(rows);
    await using small = await makePlace(rows * SHARE);
    const figures: BenchRow[] = [];
    for (const role of ["ingest", "query"] as const) {
      figures.push(...await figuresOf(role, { large, small }));
    }
    return figures;
  },
};

interface Place extends AsyncDisposable {
  readonly dir: string;
  readonly what: string;
}

async function makePlace(rows: number): Promise<Place> {
  const table = await buildTable(rows, { rowsPerFile: ROWS_A_FILE });
  const walBytes = await fillWal(`${table.dir}/wal`, rows * WAL_BYTES_A_ROW);
  await makeDataFolders(table.dir);
  return {
    dir: table.dir,
    what: `${formatCount(walBytes / 1e6)} MB of WAL, ${formatCount(rows / ROWS_A_FILE)} files`,
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}

/** Sealed segments whose files are `bytes` together. */
async function fillWal(root: string, bytes: number): Promise<number> {
  const fs = new DenoFileSystem();
  const ends = { fs, clock: new SystemClock(), random: new SystemRandom(), freeBytesMin: 0 };
  await using wal = await openWal({ ...ends, root });
  let written = 0;
  for (let first = 0; written < bytes; first += ROWS_A_BATCH) {
    const startNs = START_NS + BigInt(first) * NS_PER_MS;
    const body = otlpLogsBody({ first, records: ROWS_A_BATCH, noiseBytes: NOISE_BYTES, startNs });
    const batch = encodeBatch(decodeLogsProtobuf(body, { nowNs: startNs }));
    const { segment: name } = await wal.append(LANE, batch, "auto");
    await wal.seal(LANE);
    written += (await fs.stat(segmentPath(root, LANE, { state: "sealed", name }))).size;
  }
  return written;
}

/** Milliseconds since a server was started. */
interface Recovery {
  readonly readyMs: number;
  readonly answerMs: number;
  /** Processor time until it was ready, of the server and its processes. */
  readonly readyProcessorMs: number;
  /** Until the answer. */
  readonly answerProcessorMs: number;
}

async function figuresOf(
  role: MeasuredRole,
  { large, small }: { readonly large: Place; readonly small: Place },
): Promise<BenchRow[]> {
  const took = { large: [] as Recovery[], small: [] as Recovery[] };
  // The first of each warms the system's caches, as the server that was killed had.
  for (let round = -1; round < ROUNDS; round += 1) {
    const [ofLarge, ofSmall] = [await recover(role, large.dir), await recover(role, small.dir)];
    if (round < 0) continue;
    took.large.push(ofLarge);
    took.small.push(ofSmall);
  }
  const row = (of: keyof Recovery, what: string, bar: Bar): BenchRow => {
    const ours = median(took.large.map((one) => one[of]));
    const tenth = median(took.small.map((one) => one[of]));
    const { ms: msMax = Infinity, growth: growthMax = Infinity } = bar;
    return {
      what: `${role} server, ${what}, ${large.what}`,
      ours: formatMs(ours),
      reference: `a tenth of both ${formatMs(tenth)}`,
      ratio: formatRatio(ours / tenth),
      target: bar.ms !== undefined
        ? `≤ ${formatMs(bar.ms)}`
        : bar.growth !== undefined
        ? `≤ ${formatRatio(bar.growth)}`
        : "for orientation",
      reached: ours <= msMax && ours <= growthMax * tenth,
    };
  };
  const answer = role === "ingest" ? "rows acknowledged" : "the newest ten rows answered";
  return [
    row("readyMs", "from SIGKILL to ready", { ms: BARS_MS[role] }),
    row("readyProcessorMs", "processor time until ready", { growth: GROWTH_MAX }),
    row("answerMs", `from SIGKILL to ${answer}`, {}),
    row("answerProcessorMs", `processor time until ${answer}`, {}),
  ];
}

/** What is to be reached: milliseconds, or how much more it may be than over a tenth. */
interface Bar {
  readonly ms?: number;
  readonly growth?: number;
}

/** Starts the server where it was killed, and kills it again. */
async function recover(role: MeasuredRole, dataDir: string): Promise<Recovery> {
  const [port = 0, metrics = 0, grpc = 0] = freePorts(3);
  const listen = ["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metrics}`];
  const own = role === "ingest" ? ["--otlp-grpc-listen", `127.0.0.1:${grpc}`] : [];
  const startMs = performance.now();
  const process = new Deno.Command(Deno.execPath(), {
    args: processArguments(role, dataDir, [...listen, ...own]),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    await untilReady(`http://127.0.0.1:${port}/readyz`, signal);
    const readyMs = performance.now() - startMs;
    const readyProcessorMs = processorMsOfTree(process.pid);
    await (role === "ingest" ? leaveActive(port, signal) : askNewest(port, signal));
    const answerMs = performance.now() - startMs;
    const answerProcessorMs = processorMsOfTree(process.pid);
    return { readyMs, answerMs, readyProcessorMs, answerProcessorMs };
  } finally {
    process.kill("SIGKILL");
    await process.status;
  }
}

async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await fetch(url, { signal }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Rows in a segment that is being written when the server is killed. */
function leaveActive(port: number, signal: AbortSignal): Promise<void> {
  const body = otlpLogsBody({ first: 0, records: ROWS_A_BATCH, noiseBytes: 0, startNs: START_NS });
  return post(`http://127.0.0.1:${port}/v1/logs`, {
    ...{ type: "application/x-protobuf", body, signal },
  });
}

function askNewest(port: number, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify({
    query: NEWEST,
    limits: { timeout_seconds: ANSWER_MS_MAX / 1_000 },
  });
  return post(`http://127.0.0.1:${port}/api/v1/sql`, { type: "application/json", body, signal });
}

async function post(
  url: string,
  { type, body, signal }: {
    readonly type: string;
    readonly body: BodyInit;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": type },
    body,
    signal,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} was answered by ${answer.status}: ${text}`);
}

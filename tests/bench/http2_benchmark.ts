/**
 * How long others wait while one connection attacks the OTLP/gRPC listener. Others are requests to
 * the HTTP port and calls on a connection of their own. They run in turn with the same attacker
 * sending to a process that discards what it reads. Both take the attacker's processor from the
 * machine; only the first takes the server's time.
 */

import { join } from "node:path";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { HTTP2_ATTACKS } from "../../shared/testing/http2_attacks.ts";
import { freePort } from "../../shared/testing/free_ports.ts";
import { framed, GrpcConnection } from "../clients/grpc_call.ts";
import { BenchServers, denoRun } from "./bench_servers.ts";
import {
  type Benchmark,
  type BenchRow,
  formatMs,
  formatRatio,
  median,
  percentile,
} from "./benchmark.ts";

const HERE = import.meta.dirname ?? ".";
const P99_RATIO_MAX = 2;
/** Seconds of each side, in turn. */
const ROUND_SECS = 1;
/** Until the attacker has begun. */
const BEGIN_MS = 300;
/** Between an answer and the next request. */
const PAUSE_MS = 1;
/** A request that is not answered by then ends the benchmark. */
const ANSWER_MS_MAX = 30_000;

const BODY = encodeLogsRequest({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "of somebody else" } }] }] }],
});

type Bystander = () => Promise<void>;

export const HTTP2: Benchmark = {
  name: "http2",
  summary: "what others wait for while one HTTP/2 connection attacks",
  sizes: { small: { rows: 0, seconds: 1 }, full: { rows: 0, seconds: 5 } },
  async run({ seconds }) {
    await using servers = await BenchServers.create("http2");
    const grpcPort = freePort();
    const { port } = await servers.startIngest({ grpcPort });
    const discardPort = await servers.startDiscard();
    await using grpc = new GrpcConnection(`127.0.0.1:${grpcPort}`);
    const bystanders = [() => askHealth(port), () => exportOnce(grpc)];
    await waitedMs(bystanders, 1_000);
    const table: BenchRow[] = [];
    const ratios: number[] = [];
    for (const { name } of HTTP2_ATTACKS) {
      const rounds: Round[] = [];
      for (let round = 0; round < Math.ceil(seconds / ROUND_SECS); round++) {
        const beside = await waitedBeside(bystanders, { name, port: discardPort });
        const ours = await waitedBeside(bystanders, { name, port: grpcPort });
        rounds.push({ beside, ours });
      }
      const ratio = median(rounds.map(({ ours, beside }) => p99(ours) / p99(beside)));
      ratios.push(ratio);
      table.push({ ...barOf(ratio), ...textsOf(name, rounds) });
    }
    const what = `median of the ${ratios.length} attacks`;
    table.push({ what, ours: "", reference: "", ...barOf(median(ratios)) });
    return table;
  },
};

/**
 * What each request waited, in ms: beside an attack on a process that discards it, and on the
 * server.
 */
interface Round {
  readonly beside: readonly number[];
  readonly ours: readonly number[];
}

function barOf(ratio: number): Pick<BenchRow, "ratio" | "target" | "reached"> {
  return {
    ratio: formatRatio(ratio),
    target: `≤ ${formatRatio(P99_RATIO_MAX)}`,
    reached: ratio <= P99_RATIO_MAX,
  };
}

function textsOf(
  what: string,
  rounds: readonly Round[],
): Pick<BenchRow, "what" | "ours" | "reference"> {
  const text = (side: keyof Round) =>
    `p99 ${formatMs(median(rounds.map((one) => p99(one[side]))))}, ` +
    `median ${formatMs(median(rounds.map((one) => median(one[side]))))}`;
  return {
    what,
    ours: text("ours"),
    reference: `the same sent elsewhere: ${text("beside")}`,
  };
}

function p99(waited: readonly number[]): number {
  return percentile(waited, 0.99);
}

/** What each request of the bystanders waited while the attack `name` is sent to `port`. */
async function waitedBeside(
  bystanders: readonly Bystander[],
  { name, port }: { readonly name: string; readonly port: number },
): Promise<number[]> {
  const program = join(HERE, "../load/http2_attacker.ts");
  const secs = String(ROUND_SECS + 10);
  const attacker = denoRun(
    ["--allow-net=127.0.0.1", "--no-check", program, String(port), secs, "1", name],
    "null",
  ).spawn();
  try {
    await new Promise((resolve) => setTimeout(resolve, BEGIN_MS));
    return await waitedMs(bystanders, 1_000 * ROUND_SECS);
  } finally {
    attacker.kill("SIGKILL");
    await attacker.status;
  }
}

/** The wait of each request for `ms`, one after the other, as each bystander. */
async function waitedMs(bystanders: readonly Bystander[], ms: number): Promise<number[]> {
  const endMs = performance.now() + ms;
  const waited: number[] = [];
  await Promise.all(bystanders.map(async (ask) => {
    while (performance.now() < endMs) {
      const startMs = performance.now();
      await ask();
      waited.push(performance.now() - startMs);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }));
  return waited;
}

async function askHealth(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  await response.body?.cancel();
}

async function exportOnce(connection: GrpcConnection): Promise<void> {
  const { code, message } = await connection.call({ wire: framed(BODY) });
  if (code !== 0) throw new Error(`a bystander's call ended with ${code}: ${message}`);
}

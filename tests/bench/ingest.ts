/**
 * Ingest against the bare server: the same prebuilt bodies, the same connections, in one run. The
 * two servers are up together and driven in turn, round by round, so that a slow moment of the
 * machine hits both.
 */

import { join } from "node:path";
import { LOGS_EXPORT } from "../clients/grpc_call.ts";
import { median } from "./benchmark.ts";

export interface IngestBenchOptions {
  /** Measured seconds per server, over all rounds. */
  readonly seconds: number;
  readonly recordsPerRequest: number;
  readonly connections: number;
}

export interface IngestBenchResult {
  /** Rows per second acknowledged with `wait_for`, the median of the rounds. */
  readonly ours: number;
  /** Rows per second of the bare server with the same bodies. */
  readonly bare: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

interface LoadReport {
  readonly rows: number;
  readonly seconds: number;
}

const ROUNDS = 3;
const READY_MS_MAX = 20_000;
const HERE = import.meta.dirname ?? ".";

export async function benchIngest(options: IngestBenchOptions): Promise<IngestBenchResult> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-ingest-" });
  const processes: Deno.ChildProcess[] = [];
  try {
    const bare = await startBare(dir, processes);
    const ours = await startIngestServer(dir, processes);
    const rounds: { ours: number; bare: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({
        bare: await drive(bare, "/v1/logs", options),
        ours: await drive(ours, "/v1/logs", options),
      });
    }
    return {
      ours: median(rounds.map((round) => round.ours)),
      bare: median(rounds.map((round) => round.bare)),
      ratio: median(rounds.map((round) => round.ours / round.bare)),
    };
  } finally {
    await endAll(dir, processes);
  }
}

export interface GrpcBenchResult {
  /** Rows per second acknowledged with `wait_for`, medians of the rounds. */
  readonly grpc: number;
  readonly http: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

/** OTLP/gRPC beside OTLP/HTTP, the same bodies sent to one server in turn. */
export async function benchGrpc(options: IngestBenchOptions): Promise<GrpcBenchResult> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-grpc-" });
  const processes: Deno.ChildProcess[] = [];
  try {
    const [grpcPort = 0] = freePorts(1);
    const listen = `--otlp-grpc-listen=127.0.0.1:${grpcPort}`;
    const port = await startIngestServer(dir, processes, listen);
    const rounds: { grpc: number; http: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({
        http: await drive(port, "/v1/logs", options),
        grpc: await drive(grpcPort, LOGS_EXPORT, options),
      });
    }
    return {
      grpc: median(rounds.map((round) => round.grpc)),
      http: median(rounds.map((round) => round.http)),
      ratio: median(rounds.map((round) => round.grpc / round.http)),
    };
  } finally {
    await endAll(dir, processes);
  }
}

export interface TracesBenchResult {
  /** Spans and log records per second acknowledged with `wait_for`, medians of the rounds. */
  readonly traces: number;
  readonly logs: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

/** Spans beside log records, sent to one server in turn. */
export async function benchTraces(options: IngestBenchOptions): Promise<TracesBenchResult> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-traces-" });
  const processes: Deno.ChildProcess[] = [];
  try {
    const port = await startIngestServer(dir, processes);
    const rounds: { traces: number; logs: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({
        logs: await drive(port, "/v1/logs", options),
        traces: await drive(port, "/v1/traces", options),
      });
    }
    return {
      traces: median(rounds.map((round) => round.traces)),
      logs: median(rounds.map((round) => round.logs)),
      ratio: median(rounds.map((round) => round.traces / round.logs)),
    };
  } finally {
    await endAll(dir, processes);
  }
}

/** Bulk documents per second acknowledged with `wait_for`, the median of the rounds. */
export async function benchBulk(options: IngestBenchOptions): Promise<number> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-bulk-" });
  const processes: Deno.ChildProcess[] = [];
  try {
    const port = await startIngestServer(dir, processes);
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push(await drive(port, "/api/v1/_compat/_bulk", options));
    }
    return median(rounds);
  } finally {
    await endAll(dir, processes);
  }
}

async function endAll(dir: string, processes: readonly Deno.ChildProcess[]): Promise<void> {
  for (const process of processes) await end(process);
  await Deno.remove(dir, { recursive: true });
}

/** Returns the port. */
async function startBare(dir: string, processes: Deno.ChildProcess[]): Promise<number> {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--allow-net=127.0.0.1",
      `--allow-write=${dir}`,
      join(HERE, "bare_server.ts"),
      join(dir, "bare"),
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  processes.push(process);
  const reader = process.stdout.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return Number(new TextDecoder().decode(value));
}

/** The ingest server of this workspace under its usual permissions; returns the port. */
async function startIngestServer(
  dir: string,
  processes: Deno.ChildProcess[],
  grpc = "--disable-otlp-grpc",
): Promise<number> {
  const [port, metricsPort] = freePorts(2);
  const data = join(dir, "data");
  await Deno.mkdir(data);
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--allow-net=127.0.0.1",
      `--allow-read=${data}`,
      `--allow-write=${data}`,
      "--allow-env=SVC_*",
      "--allow-sys=statfs",
      join(HERE, "../../ingest/main.ts"),
      `--data-dir=${data}`,
      `--bind=127.0.0.1:${port}`,
      `--metrics-bind=127.0.0.1:${metricsPort}`,
      grpc,
    ],
    env: { SVC_LOG: "warning" },
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  processes.push(process);
  const until = Date.now() + READY_MS_MAX;
  while (Date.now() < until) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return port ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the ingest server was not ready within ${READY_MS_MAX} ms`);
}

/** Rows per second that the server on `port` acknowledged. */
async function drive(
  port: number,
  path: "/v1/logs" | "/v1/traces" | "/api/v1/_compat/_bulk" | typeof LOGS_EXPORT,
  options: IngestBenchOptions,
): Promise<number> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--allow-net=127.0.0.1",
      "--allow-env",
      join(HERE, path === LOGS_EXPORT ? "grpc_load_generator.ts" : "load_generator.ts"),
      String(port),
      path,
      String(options.seconds / ROUNDS),
      String(options.recordsPerRequest),
      String(options.connections),
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!output.success) throw new Error("the load generator failed");
  const report: LoadReport = JSON.parse(new TextDecoder().decode(output.stdout));
  return report.rows / report.seconds;
}

function freePorts(count: number): number[] {
  const listeners = Array.from(
    { length: count },
    () => Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  );
  const ports = listeners.map((listener) => (listener.addr as Deno.NetAddr).port);
  for (const listener of listeners) listener.close();
  return ports;
}

async function end(process: Deno.ChildProcess): Promise<void> {
  try {
    process.kill("SIGTERM");
  } catch (error) {
    // It ended by itself: its exit status says why, on stderr.
    if (!(error instanceof TypeError)) throw error;
  }
  await process.status;
}

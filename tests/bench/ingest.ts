/**
 * Ingest against the bare server: the same prebuilt bodies, the same connections, in one run. The
 * two servers are up together and driven in turn, round by round, so that a slow moment of the
 * machine hits both.
 */

import { freePorts } from "../../shared/testing/free_ports.ts";
import { LOGS_EXPORT } from "../clients/grpc_call.ts";
import { BenchServers, type RunningServer } from "./bench_servers.ts";
import { median } from "./benchmark.ts";
import { driveLoad, type LoadPath, rowsPerSec } from "./drive_load.ts";
import { processorMs } from "./processor_time.ts";

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
  /** Microseconds of processor time a request, in our process and in the bare server's. */
  readonly oursMicros: number;
  readonly bareMicros: number;
}

const ROUNDS = 3;

export async function benchIngest(options: IngestBenchOptions): Promise<IngestBenchResult> {
  await using servers = await BenchServers.create("ingest");
  const bare = await servers.startBare();
  const ours = await servers.startIngest();
  const rounds: { ours: Cost; bare: Cost }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ bare: await costOf(bare, options), ours: await costOf(ours, options) });
  }
  return {
    ours: median(rounds.map(({ ours }) => ours.rate)),
    bare: median(rounds.map(({ bare }) => bare.rate)),
    ratio: median(rounds.map(({ ours, bare }) => ours.rate / bare.rate)),
    oursMicros: median(rounds.map(({ ours }) => ours.micros)),
    bareMicros: median(rounds.map(({ bare }) => bare.micros)),
  };
}

/** What one round gave. */
interface Cost {
  /** Rows per second. */
  readonly rate: number;
  /** Microseconds of processor time a request. */
  readonly micros: number;
}

async function costOf(server: RunningServer, options: IngestBenchOptions): Promise<Cost> {
  const beforeMs = processorMs(server.pid);
  const seconds = options.seconds / ROUNDS;
  const report = await driveLoad(server.port, "/v1/logs", { ...options, seconds });
  const spentMs = processorMs(server.pid) - beforeMs;
  const answered = report.answered ?? report.requests;
  return { rate: report.rows / report.seconds, micros: spentMs * 1_000 / answered };
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
  await using servers = await BenchServers.create("grpc");
  const [grpcPort = 0] = freePorts(1);
  const { port } = await servers.startIngest({ grpcPort });
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
  await using servers = await BenchServers.create("traces");
  const { port } = await servers.startIngest();
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
}

/** Bulk documents per second acknowledged with `wait_for`, the median of the rounds. */
export async function benchBulk(options: IngestBenchOptions): Promise<number> {
  await using servers = await BenchServers.create("bulk");
  const { port } = await servers.startIngest();
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await drive(port, "/api/v1/_compat/_bulk", options));
  }
  return median(rounds);
}

/** Rows per second in one round. */
function drive(port: number, path: LoadPath, options: IngestBenchOptions): Promise<number> {
  return rowsPerSec(port, path, { ...options, seconds: options.seconds / ROUNDS });
}

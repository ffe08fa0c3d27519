/** Load from a process of its own, so that the server under it has its event loop to itself. */

import { join } from "node:path";
import { LOGS_EXPORT } from "../clients/grpc_call.ts";
import { denoRun } from "./bench_servers.ts";

const HERE = import.meta.dirname ?? ".";

export type LoadPath = "/v1/logs" | "/v1/traces" | "/api/v1/_compat/_bulk" | typeof LOGS_EXPORT;

export interface LoadOptions {
  /** Measured seconds; a generator warms up before. */
  readonly seconds: number;
  readonly recordsPerRequest: number;
  readonly connections: number;
  /** HTTP only: send at this rate; load_generator.ts says from when latency counts. */
  readonly requestsPerSec?: number;
}

export interface LoadReport {
  readonly requests: number;
  /** Over HTTP: requests that were answered, those of the warm-up as well. */
  readonly answered?: number;
  readonly rows: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /**
   * With a rate: how late the generator was with a free connection, which no latency holds; 99th
   * percentile.
   */
  readonly lateP99Ms?: number;
  /** With a rate: of each request. */
  readonly tookMs?: readonly number[];
}

export async function driveLoad(
  port: number,
  path: LoadPath,
  options: LoadOptions,
): Promise<LoadReport> {
  const program = path === LOGS_EXPORT ? "grpc_load_generator.ts" : "load_generator.ts";
  const { seconds, recordsPerRequest, connections, requestsPerSec } = options;
  const numbers = [seconds, recordsPerRequest, connections, requestsPerSec ?? 0].map(String);
  const permissions = ["--allow-net=127.0.0.1", "--allow-env", `--allow-read=${HERE}`];
  const output = await denoRun(
    [...permissions, join(HERE, program), String(port), path, ...numbers],
    "piped",
    requestsPerSec !== undefined && await mayGoFirst() ? GOES_FIRST : [],
  ).output();
  if (!output.success) throw new Error("the load generator failed");
  return JSON.parse(new TextDecoder().decode(output.stdout));
}

/**
 * Runs what follows before all others that want a processor. For a load with a rate, which stands
 * for senders elsewhere: those are on time and read their answers however busy the server's machine
 * is. It takes a tenth of a processor.
 */
const GOES_FIRST = ["chrt", "--rr", "1"];

/** Whether that is there and allowed: it takes privileges. */
async function mayGoFirst(): Promise<boolean> {
  const [command = "", ...args] = [...GOES_FIRST, "true"];
  const options = { args, stdout: "null", stderr: "null" } as const;
  return await new Deno.Command(command, options).output().then(
    ({ success }) => success,
    () => false,
  );
}

/** Rows per second that the server on `port` acknowledged. */
export async function rowsPerSec(
  port: number,
  path: LoadPath,
  options: LoadOptions,
): Promise<number> {
  const { rows, seconds } = await driveLoad(port, path, options);
  return rows / seconds;
}

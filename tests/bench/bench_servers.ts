/**
 * The servers of one benchmark, each a process of its own, and the directory they write to. All end
 * with it.
 */

import { join } from "node:path";
import { processArguments } from "../../cli/permissions.ts";
import { freePort, freePorts } from "../../shared/testing/free_ports.ts";
import { type RangeServerOptions, startRangeServer } from "./http_store.ts";

export interface RunningServer {
  readonly port: number;
  readonly pid: number;
}

export interface RunningRole extends RunningServer {
  readonly metricsPort: number;
}

const READY_MS_MAX = 60_000;
const HERE = import.meta.dirname ?? ".";

export class BenchServers implements AsyncDisposable {
  /** On the disk of the temporary directory, as everything that is measured here. */
  readonly dir: string;
  readonly #processes: Deno.ChildProcess[] = [];

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async create(name: string): Promise<BenchServers> {
    return new BenchServers(await Deno.makeTempDir({ prefix: `svc-bench-${name}-` }));
  }

  /** Where the ingest server keeps its data. */
  get dataDir(): string {
    return join(this.dir, "data");
  }

  async startBare(): Promise<RunningServer> {
    const permissions = ["--allow-net=127.0.0.1", `--allow-write=${this.dir}`];
    return await this.#start([
      ...permissions,
      join(HERE, "bare_server.ts"),
      join(this.dir, "bare"),
    ]);
  }

  /** A server that discards what it reads. */
  async startDiscard(): Promise<number> {
    const program = join(HERE, "discard_server.ts");
    return (await this.#start(["--allow-net=127.0.0.1", program])).port;
  }

  /** A program that writes its port to stdout. */
  async #start(args: readonly string[]): Promise<RunningServer> {
    const process = denoRun(args, "piped").spawn();
    this.#processes.push(process);
    const reader = process.stdout.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    return { port: Number(new TextDecoder().decode(value)), pid: process.pid };
  }

  /** The ingest server of this workspace under its usual permissions. */
  async startIngest(
    options: {
      grpcPort?: number;
      /** Default `dataDir`. */
      dataDir?: string;
      args?: readonly string[];
      env?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<RunningRole> {
    const [port = 0, metricsPort = 0] = freePorts(2);
    const { dataDir = this.dataDir, args = [], env = {} } = options;
    await Deno.mkdir(join(dataDir, "wal"), { recursive: true });
    const grpc = options.grpcPort === undefined
      ? ["--disable-otlp-grpc"]
      : ["--otlp-grpc-listen", `127.0.0.1:${options.grpcPort}`];
    const process = new Deno.Command(Deno.execPath(), {
      args: processArguments("ingest", dataDir, [
        ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
        ...grpc,
        ...args,
      ], env),
      env: { SVC_LOG: "warning", ...env },
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    this.#processes.push(process);
    await waitUntilReady(port);
    return { port, metricsPort, pid: process.pid };
  }

  /**
   * The query server of this workspace under its usual permissions, over the warehouse in
   * `dataDir`.
   */
  async startQuery(
    dataDir: string,
    args: readonly string[] = [],
    { env = {}, port = freePort() }: {
      readonly env?: Readonly<Record<string, string>>;
      readonly port?: number;
    } = {},
  ): Promise<RunningRole> {
    const metricsPort = freePort();
    await Deno.mkdir(join(dataDir, "wal"), { recursive: true });
    for (const folder of ["query-cache", "warehouse/svc/job_results"]) {
      await Deno.mkdir(join(dataDir, folder), { recursive: true });
    }
    const process = new Deno.Command(Deno.execPath(), {
      args: processArguments("query", dataDir, [
        ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
        ...args,
      ], env),
      env: { SVC_LOG: "warning", ...env },
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    this.#processes.push(process);
    await waitUntilReady(port);
    return { port, metricsPort, pid: process.pid };
  }

  /** A store over `folder` for one server. */
  async startStore(folder: string, options: RangeServerOptions): Promise<number> {
    const { process, port } = await startRangeServer(folder, options);
    this.#processes.push(process);
    return port;
  }

  /** Ends the server that was started last. */
  async stopLast(): Promise<void> {
    const process = this.#processes.pop();
    if (process !== undefined) await end(process);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes) await end(process);
    await Deno.remove(this.dir, { recursive: true });
  }
}

/**
 * `deno run` of one program of this directory; `args` are permissions, its path, its arguments,
 * `before` a command that runs it.
 */
export function denoRun(
  args: readonly string[],
  stdout: "piped" | "null",
  before: readonly string[] = [],
): Deno.Command {
  const [command = "", ...rest] = [...before, Deno.execPath()];
  return new Deno.Command(command, {
    args: [...rest, "run", "--quiet", "--no-prompt", ...args],
    stdin: "null",
    stdout,
    stderr: "inherit",
  });
}

async function waitUntilReady(port: number): Promise<void> {
  const until = Date.now() + READY_MS_MAX;
  while (Date.now() < until) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the server was not ready within ${READY_MS_MAX} ms`);
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

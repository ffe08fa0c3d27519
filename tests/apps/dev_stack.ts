/**
 * `deno task dev` as a process over a folder of its own and free ports: for tests. Finds the roles'
 * processes in `/proc`, so it needs Linux.
 */

import { workspacePath } from "../../cli/permissions.ts";
import { textLines } from "../../cli/text_lines.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { ONE_DUCKDB_ENV } from "../../shared/testing/one_duckdb.ts";

export const UP_MS_MAX = 90_000;
export const DOWN_MS_MAX = 60_000;
const POLL_MS = 50;

/** What listens at each of a stack's ports, as `dev` names it. */
const LISTENERS = ["ingest", "query", "ingest-metrics", "compactor-metrics", "query-metrics"];

export class DevStack implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #output: string[] = [];
  readonly #log: string[] = [];
  readonly #reading: Promise<unknown>;
  #code: number | undefined;

  private constructor(
    readonly dataDir: string,
    readonly ports: number[],
    more: string[],
    private readonly removes = true,
  ) {
    const binds = LISTENERS.flatMap((name, at) => [`--${name}-bind`, `127.0.0.1:${ports[at]}`]);
    this.#process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["task", "-q", "dev", "--data-dir", dataDir, "--otlp-grpc-listen", "127.0.0.1:0"],
        ...["--pg-listen", "127.0.0.1:0"],
        ...binds,
        ...more,
      ],
      cwd: workspacePath("."),
      env: ONE_DUCKDB_ENV,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#process.status.then(({ code }) => this.#code = code);
    this.#reading = Promise.all([
      collect(this.#process.stdout, this.#output),
      collect(this.#process.stderr, this.#log),
    ]);
  }

  static async start(more: string[] = [], ports = freePorts(5)): Promise<DevStack> {
    return new DevStack(await Deno.makeTempDir({ prefix: "svc-dev-" }), ports, more);
  }

  /** On a folder that another one removes. */
  static on(dataDir: string, ports: number[], more: string[] = []): DevStack {
    return new DevStack(dataDir, ports, more, false);
  }

  /** The line of the greeting that begins with `start`, once it is there. */
  async greeted(start: string): Promise<string> {
    const find = () => this.#output.find((line) => line.trim().startsWith(start))?.trim();
    await until(
      () => find() !== undefined || this.#code !== undefined,
      UP_MS_MAX,
      () => this.told(),
    );
    const line = find();
    if (line === undefined) throw new Error(`it ended without a line ${start}:\n${this.told()}`);
    return line;
  }

  signal(name: Deno.Signal): void {
    this.#process.kill(name);
  }

  /** Exit status, once it has ended by itself. */
  async ended(msMax = DOWN_MS_MAX): Promise<number> {
    await until(() => this.#code !== undefined, msMax, () => this.told());
    await this.#reading;
    return this.#code ?? -1;
  }

  told(): string {
    return [...this.#output, ...this.#log].join("\n");
  }

  /** Ends what is left, in order first: roles are process groups of their own and would stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#code === undefined) this.signal("SIGTERM");
    await until(() => this.#code !== undefined, DOWN_MS_MAX, () => this.told());
    await this.#reading;
    if (this.removes) await Deno.remove(this.dataDir, { recursive: true });
  }
}

async function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>, into: string[]) {
  for await (const line of textLines(stream)) into.push(line);
}

/** Throws what `told` says when it takes too long. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  msMax: number,
  told: () => string,
): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`not within ${msMax} ms:\n${told()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Processes that run a role over `dataDir`. */
export function rolePids(dataDir: string, entry = "/main.ts"): Promise<number[]> {
  return pidsOf(dataDir, (word) => word.endsWith(entry) && !word.endsWith("cli/main.ts"));
}

/** Processes over `dataDir` one of whose words is such a one. */
export async function pidsOf(
  dataDir: string,
  isWanted: (word: string) => boolean,
): Promise<number[]> {
  const pids: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    const words = line.split("\0");
    if (words.some(isWanted) && words.includes(dataDir)) pids.push(Number(name));
  }
  return pids;
}

/**
 * Child processes that live and die together: one merged log, and the end of one is the end of all.
 *
 * A child runs in a process group of its own. So Ctrl-C in a terminal reaches it once, as the
 * SIGTERM sent here, and its orderly end is not mistaken for a second, impatient signal. A child's
 * standard input is a pipe that nothing is written to and that ends with this process, also when
 * SIGKILL ends it. A child that watches it (`--end-with-stdin`) is not left behind. Calls
 * `Deno.Command` itself, and asks whether it may.
 */

import { textLines } from "../text_lines.ts";

export interface ChildSpec {
  /** Prefix of its log lines. */
  readonly name: string;
  /** For the `deno` executable that runs this process. */
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface ChildEnd {
  readonly name: string;
  /** Exit status; 128 + the signal's number when a signal ended it. */
  readonly code: number;
  readonly signal: string | undefined;
  /** What it said last. */
  readonly lastLine: string;
}

interface Child {
  readonly name: string;
  readonly process: Deno.ChildProcess;
  readonly ended: Promise<ChildEnd>;
}

export interface ProcessGroupOptions {
  /** Takes one line of any child, prefixed, without its end. */
  readonly writeLine: (line: string) => void;
  /** Names are padded to this width. */
  readonly nameWidth: number;
}

export class ProcessGroup {
  readonly #children: Child[] = [];
  readonly #options: ProcessGroupOptions;
  readonly #firstEnd = Promise.withResolvers<ChildEnd>();

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
  }

  /** Resolves when the first child has ended, for whatever reason. */
  get firstEnd(): Promise<ChildEnd> {
    return this.#firstEnd.promise;
  }

  start(spec: ChildSpec): void {
    const process = new Deno.Command(Deno.execPath(), {
      args: [...spec.args],
      env: { ...spec.env },
      clearEnv: true,
      detached: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const child = { name: spec.name, process, ended: this.#watch(spec.name, process) };
    this.#children.push(child);
    child.ended.then((end) => this.#firstEnd.resolve(end));
  }

  /**
   * SIGTERM to the children in the order they were started, SIGKILL to those still there `msMax`
   * later. Resolves when all have ended, with the names of those that had to be killed.
   */
  async stop(msMax: number): Promise<string[]> {
    for (const { process } of this.#children) signal(process, "SIGTERM");
    const killed: string[] = [];
    const timer = setTimeout(() => {
      for (const { name, process } of this.#children) {
        if (signal(process, "SIGKILL")) killed.push(name);
      }
    }, msMax);
    await Promise.all(this.#children.map((child) => child.ended));
    clearTimeout(timer);
    return killed;
  }

  /** SIGKILL to all, without waiting. */
  kill(): void {
    for (const { process } of this.#children) signal(process, "SIGKILL");
  }

  async #watch(name: string, process: Deno.ChildProcess): Promise<ChildEnd> {
    const prefix = name.padEnd(this.#options.nameWidth);
    let lastLine = "";
    const relay = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
      for await (const line of textLines(stream)) {
        if (line.trim() !== "") lastLine = line;
        this.#options.writeLine(`${prefix} | ${line}`);
      }
    };
    const [status] = await Promise.all([
      process.status,
      relay(process.stdout),
      relay(process.stderr),
    ]);
    await process.stdin.close().catch(() => {});
    return { name, code: status.code, signal: status.signal ?? undefined, lastLine };
  }
}

/** Whether this process can start others from the source tree: a compiled binary cannot. */
export function runsFromSource(): boolean {
  return !Deno.build.standalone;
}

/** Whether this process was granted to start others. */
export async function mayStartProcesses(): Promise<boolean> {
  const run = await Deno.permissions.query({ name: "run", command: Deno.execPath() });
  return run.state === "granted";
}

/** Sends a signal; false when the process has ended already. */
function signal(process: Deno.ChildProcess, name: Deno.Signal): boolean {
  try {
    process.kill(name);
    return true;
  } catch (error) {
    if (error instanceof TypeError || error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * One measured system as a process: started over a folder, watched for what it uses, and ended by
 * its ids.
 */

import { OperatingError } from "../../../shared/base/errors.ts";
import { processTree, type ProcessUse, totalCpuSecs, totalResidentBytes } from "./process_tree.ts";
import type { Call } from "./question.ts";
import type { Launch, MeasuredSystem, RunningSystem } from "./systems/system.ts";

const READY_SECS_MAX = 120;
const READY_POLL_MS = 20;
const STOP_SECS_MAX = 60;
const WATCH_MS = 250;
const CALL_SECS_MAX = 120;
/** An error shows so many lines of the log. */
const LOG_LINES = 5;

export interface ServerOptions {
  readonly folder: string;
  readonly launch: Launch;
  /** A file for what it prints; it grows over starts. */
  readonly logFile: string;
}

/** What runs, for `endServers`. */
const running = new Set<Deno.ChildProcess>();

/** Ends all servers of this program, which was asked to end itself. */
export async function endServers(): Promise<void> {
  await Promise.all([...running].map(endTree));
}

export class ServerProcess implements RunningSystem, AsyncDisposable {
  readonly folder: string;
  readonly launch: Launch;
  /** From the start of the process to the first moment at which it was ready. */
  readonly readySecs: number;
  /** When it was started, as `performance.now` tells. */
  readonly startedMs: number;
  readonly #system: MeasuredSystem;
  readonly #child: Deno.ChildProcess;
  readonly #watch: ReturnType<typeof setInterval>;
  readonly #peakByRole = new Map<string, number>();
  #residentPeak = 0;

  private constructor(
    system: MeasuredSystem,
    options: ServerOptions,
    started: { readonly child: Deno.ChildProcess; readonly atMs: number },
  ) {
    this.folder = options.folder;
    this.launch = options.launch;
    this.startedMs = started.atMs;
    this.readySecs = (performance.now() - started.atMs) / 1_000;
    this.#system = system;
    this.#child = started.child;
    this.#watch = setInterval(() => this.#look(), WATCH_MS);
  }

  /** Resolves once it is ready. Errors: `unavailable` with the end of its log. */
  static async start(system: MeasuredSystem, options: ServerOptions): Promise<ServerProcess> {
    const { launch, logFile } = options;
    const atMs = performance.now();
    const child = await spawn(launch, logFile);
    let ended = false;
    child.status.then(() => ended = true);
    while (performance.now() - atMs < READY_SECS_MAX * 1_000 && !ended) {
      if (await areReady(launch.readyUrls)) {
        return new ServerProcess(system, options, { child, atMs });
      }
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
    const why = ended ? "it ended" : `it was not ready within ${READY_SECS_MAX} s`;
    await endTree(child);
    throw new OperatingError(
      "unavailable",
      `Cannot start ${system.title}: ${why}; its log ends with ${await lastLines(logFile)}`,
    );
  }

  /** What its processes use now; also takes note of their peaks. */
  uses(): readonly ProcessUse[] {
    const tree = processTree(this.#child.pid);
    for (const use of tree) {
      const role = this.#system.roleOf(use);
      this.#peakByRole.set(role, Math.max(use.peakBytes, this.#peakByRole.get(role) ?? 0));
    }
    return tree;
  }

  #look(): void {
    this.#residentPeak = Math.max(this.#residentPeak, totalResidentBytes(this.uses()));
  }

  cpuSecs(): number {
    return totalCpuSecs(this.uses());
  }

  /** Processor time so far by what the processes do. */
  cpuSecsByRole(): ReadonlyMap<string, number> {
    const secs = new Map<string, number>();
    for (const use of this.uses()) {
      const role = this.#system.roleOf(use);
      secs.set(role, (secs.get(role) ?? 0) + use.cpuSecs);
    }
    return secs;
  }

  /** The highest resident memory of one process of each role. */
  get peakBytesByRole(): ReadonlyMap<string, number> {
    return this.#peakByRole;
  }

  /** The most memory of its processes that was seen since `forgetResident`. */
  get residentPeakBytes(): number {
    return this.#residentPeak;
  }

  forgetResident(): void {
    this.#residentPeak = 0;
  }

  readonly call: Call = async (path, body, contentType) => {
    return await callAt(this.launch.askPort, path, body, contentType);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watch);
    await endTree(this.#child);
  }
}

/** A path may have a method before it; else it is POST with a body and GET without. */
async function callAt(
  port: number,
  path: string,
  body: string | undefined,
  contentType = "text/plain",
): Promise<string> {
  const [, named, where] = /^(?:([A-Z]+) )?(.*)$/s.exec(path) ?? [];
  const response = await fetch(`http://127.0.0.1:${port}${where}`, {
    method: named ?? (body === undefined ? "GET" : "POST"),
    headers: {
      // Packing answers would count for some systems and not for others.
      "accept-encoding": "identity",
      ...(body === undefined ? {} : { "content-type": contentType }),
    },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(CALL_SECS_MAX * 1_000),
  });
  const text = await response.text();
  if (response.ok) return text;
  throw new OperatingError(
    "unavailable",
    `${path.replace(/\?.*/, "")} answered ${response.status}: ${text.slice(0, 300)}`,
  );
}

/** What the process prints goes to the file through a shell, so that nobody has to read it. */
async function spawn(launch: Launch, logFile: string): Promise<Deno.ChildProcess> {
  await Deno.writeTextFile(logFile, "", { append: true });
  const child = new Deno.Command("sh", {
    args: [
      "-c",
      'log=$1; shift; exec "$@" >>"$log" 2>&1',
      "sh",
      logFile,
      launch.command,
      ...launch.args,
    ],
    ...(launch.cwd === undefined ? {} : { cwd: launch.cwd }),
    ...(launch.env === undefined ? {} : { env: launch.env }),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  running.add(child);
  return child;
}

async function areReady(urls: readonly string[]): Promise<boolean> {
  for (const url of urls) {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
      .catch(() => undefined);
    await response?.body?.cancel();
    if (!response?.ok) return false;
  }
  return true;
}

/** Asks the first process to end; what is left of the tree after the deadline is killed. */
async function endTree(child: Deno.ChildProcess): Promise<void> {
  const pids = processTree(child.pid).map(({ pid }) => pid);
  kill(child.pid, "SIGTERM");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), STOP_SECS_MAX * 1_000);
  });
  const outcome = await Promise.race([child.status, late]);
  clearTimeout(timer);
  if (outcome === "late") { for (const pid of pids) kill(pid, "SIGKILL"); }
  await child.status;
  running.delete(child);
}

function kill(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof TypeError)) throw error;
  }
}

async function lastLines(file: string): Promise<string> {
  const text = await Deno.readTextFile(file).catch(() => "");
  return JSON.stringify(text.trim().split("\n").slice(-LOG_LINES).join("\n"));
}

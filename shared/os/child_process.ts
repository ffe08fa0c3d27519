/**
 * Starts this runtime once more, with a program and permissions of its own, and a socket to speak
 * with it over, which is its descriptor 3. The socket ends with this process, whatever ends that,
 * and so tells the other one (`parent_process.ts`).
 *
 * Needs `run` on the runtime's executable and `env` of `NODE_V8_COVERAGE`, which
 * `node:child_process` looks at. `DENO_DIR` is passed on where it may be read.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { messageOf, OperatingError } from "../base/errors.ts";

export interface ChildProgram {
  /** Absolute path of its main module. */
  readonly module: string;
  /** What a compiled binary, which is all of its modules, takes for that module. */
  readonly word: string;
  readonly args: readonly string[];
  /**
   * By the name of the flag. Those of a compiled binary are built in, and the same as this
   * process's.
   */
  readonly permissions: Readonly<Record<string, readonly string[]>>;
}

export interface StartedChild {
  readonly socket: Socket;
  readonly pid: number;
  /** How it ended, in words. */
  readonly ended: Promise<string>;
  /** Whatever it does. */
  kill(): void;
}

const SOCKET = 3;
const LINE_LENGTH_MAX = 1_000;

/** The path of the runtime's executable. */
export function runtimePath(): string {
  return Deno.execPath();
}

/** Whether this process has the permission. */
export function mayStartChild(): boolean {
  const run = Deno.permissions.querySync({ name: "run", command: Deno.execPath() });
  return run.state === "granted";
}

/**
 * `onLine` is given what it writes to its standard error. Errors: `unavailable` with what to grant.
 */
export function startChild(program: ChildProgram, onLine: (line: string) => void): StartedChild {
  let child: ChildProcess;
  try {
    child = spawn(Deno.execPath(), wordsOf(program), {
      stdio: ["ignore", "ignore", "pipe", "pipe"],
      env: environment(),
    });
  } catch (cause) {
    throw cannotStart(cause);
  }
  const ended = Promise.withResolvers<string>();
  child.on("error", (error) => ended.resolve(messageOf(cannotStart(error))));
  child.on("exit", (code, signal) => {
    ended.resolve(signal === null ? `it exited with status ${code}` : `it was ended by ${signal}`);
  });
  tellLines(child, onLine);
  const socket = child.stdio[SOCKET] as Socket | null | undefined;
  const { pid } = child;
  if (socket === null || socket === undefined || pid === undefined) {
    throw cannotStart("it has no socket");
  }
  return { socket, pid, ended: ended.promise, kill: () => void child.kill("SIGKILL") };
}

function wordsOf({ module, word, args, permissions }: ChildProgram): string[] {
  if (Deno.build.standalone) return [word, ...args];
  const flags = Object.entries(permissions).map(([name, values]) =>
    `--allow-${name}=${values.map(withoutComma).join(",")}`
  );
  // What such a process makes is in large arrays: a young generation of the usual size would be
  // mostly room.
  const heap = "--v8-flags=--max-semi-space-size=4";
  return ["run", "--quiet", "--no-prompt", "--cached-only", heap, ...flags, module, ...args];
}

/**
 * Nothing of this process's own, which may be passwords; but the runtime is to find what it
 * compiled before.
 */
function environment(): Record<string, string> {
  const name = "DENO_DIR";
  if (Deno.permissions.querySync({ name: "env", variable: name }).state !== "granted") return {};
  const value = Deno.env.get(name);
  return value === undefined ? {} : { [name]: value };
}

function cannotStart(cause: unknown): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot start another process: ${messageOf(cause)}; grant --allow-run=${Deno.execPath()} and ` +
      "--allow-env=NODE_V8_COVERAGE",
    { reason: "process_not_started", cause },
  );
}

/** The runtime splits the value of a permission flag at commas and knows no way around it. */
function withoutComma(value: string): string {
  if (!value.includes(",")) return value;
  throw new OperatingError(
    "invalid_argument",
    `Cannot grant access to ${JSON.stringify(value)}: use a path without a comma`,
  );
}

function tellLines(child: ChildProcess, onLine: (line: string) => void): void {
  let rest = "";
  child.stderr?.setEncoding("utf8");
  child.stderr?.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_LENGTH_MAX);
    for (const line of lines) if (line !== "") onLine(line.slice(0, LINE_LENGTH_MAX));
  });
  child.stderr?.on("end", () => {
    if (rest !== "") onLine(rest);
  });
}

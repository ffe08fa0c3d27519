/**
 * A page's commands as a user types them one after the other into one shell, in a folder whose
 * `data` is the stack's. `npx` and `deno` are scripts: they start this process's own runtime in the
 * checkout and tell `svc` where the data is, as the commands themselves say nothing of it.
 */

import { join } from "node:path";
import { workspacePath } from "../../cli/permissions.ts";
import type { Command } from "./page_blocks.ts";

export interface SessionOptions {
  /** Where `data` is, and where the commands run. */
  readonly folder: string;
  /** Ports that pages name, and the stack's own. */
  readonly ports: ReadonlyMap<number, number>;
  /** Read by the shell before the first command. */
  readonly prelude: string;
}

export interface Outcome {
  readonly status: number;
  /** Both outputs as a terminal shows them. */
  readonly printed: string;
}

/** One page takes so long at most; the longest takes 12 s on a busy machine. */
const SESSION_SECS_MAX = 150;
/** Between the commands' outputs; none of them prints it. */
const END_MARK = "\x1e";

/**
 * What became of each command, in their order. The outcomes of those that never ended, or never
 * began since the session was over, are missing.
 */
export async function runSession(
  commands: readonly Command[],
  { folder, ports, prelude }: SessionOptions,
): Promise<Outcome[]> {
  const programs = await writePrograms(folder);
  const script = join(folder, "session.sh");
  await Deno.writeTextFile(
    script,
    [
      "exec 2>&1 </dev/null",
      "shopt -s expand_aliases",
      prelude,
      ...commands.flatMap(({ text }) => [
        withPorts(text, ports),
        `printf '${END_MARK}%s${END_MARK}' "$?"`,
      ]),
      "",
    ].join("\n"),
  );
  const { stdout } = await new Deno.Command("timeout", {
    args: ["--kill-after=5", String(SESSION_SECS_MAX), "bash", script],
    cwd: folder,
    env: {
      NO_COLOR: "1",
      PATH: `${programs}:${Deno.env.get("PATH")}`,
      SVC_ENDPOINT: `http://127.0.0.1:${ports.get(8089)}`,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).output();
  const parts = new TextDecoder().decode(stdout).split(END_MARK);
  return Array.from({ length: Math.floor(parts.length / 2) }, (_, at) => ({
    printed: parts[2 * at] ?? "",
    status: Number(parts[2 * at + 1]),
  }));
}

function withPorts(text: string, ports: ReadonlyMap<number, number>): string {
  return text.replaceAll(
    /\b(127\.0\.0\.1|localhost):(\d+)/g,
    (address, host, port) =>
      ports.has(Number(port)) ? `${host}:${ports.get(Number(port))}` : address,
  );
}

async function writePrograms(folder: string): Promise<string> {
  const programs = join(folder, "programs");
  const data = join(folder, "data");
  await Deno.mkdir(programs, { recursive: true });
  const write = (name: string, lines: readonly string[]) =>
    Deno.writeTextFile(join(programs, name), ["#!/bin/sh", ...lines, ""].join("\n"), {
      mode: 0o755,
    });
  await write("deno", [
    `if [ "$1" = task ]; then`,
    `  if [ "$2 $3" = "-q svc" ]; then shift 3; set -- task -q svc --data-dir '${data}' "$@"; fi`,
    `  cd '${workspacePath(".")}' || exit`,
    "fi",
    `exec '${Deno.execPath()}' "$@"`,
  ]);
  await write("npx", [
    `if [ "$1 $2" != "-y deno@2.9.6" ]; then echo "npx: another runtime: $*"; exit 64; fi`,
    "shift 2",
    `exec '${programs}/deno' "$@"`,
  ]);
  return programs;
}

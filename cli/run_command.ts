/**
 * `svc <command>`: finds the command, parses its options and runs it. It turns what was thrown into
 * one line on stderr and an exit status: 0 done, 1 operating error, 2 wrong usage.
 */

import { OperatingError, placedMessageOf, UsageError } from "../shared/base/errors.ts";
import { nearestName } from "../shared/base/nearest_name.ts";
import { VERSION } from "../shared/base/version.ts";
import { DATA_DIR_OPTION } from "../shared/config/process_options.ts";
import { unknownVariables } from "../shared/config/unknown_variables.ts";
import { parseProgram } from "../shared/config/parse_options.ts";
import type { Environment } from "../shared/config/parse_options.ts";
import { diskError } from "../shared/os/disk_failure.ts";
import type { CommandEntry } from "./command.ts";
import { type Console, OutputClosed } from "./console.ts";

export interface RunOptions {
  readonly commands: readonly CommandEntry[];
  readonly console: Console;
  readonly env: Environment;
  /** Names of all variables that are set; those that no option reads are told on stderr. */
  readonly variables?: readonly string[];
}

/** Runs `svc` with `argv`; the exit status. Bugs (anything but operating errors) are thrown on. */
export async function runCommand(argv: readonly string[], options: RunOptions): Promise<number> {
  try {
    return await dispatch(argv, options);
  } catch (error) {
    if (error instanceof OutputClosed) return 0;
    const status = exitStatusOf(error);
    if (status === undefined) throw error;
    await options.console.notes.write(`svc: ${placedMessageOf(error)}\n`);
    return status;
  }
}

async function dispatch(argv: readonly string[], options: RunOptions): Promise<number> {
  const { commands, console } = options;
  const { name, rest } = splitCommand(argv);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const [about] = rest;
    if (name === "help" && about !== undefined) return dispatch([about, "--help"], options);
    const text = overview(commands);
    if (name === undefined) {
      await console.notes.write(text);
      return 2;
    }
    await console.output.write(text);
    return 0;
  }
  if (name === "--version" || name === "-V") {
    await console.output.write(`${VERSION}\n`);
    return 0;
  }
  const entry = commands.find((candidate) => candidate.name === name);
  if (entry === undefined) throw new UsageError(unknownCommand(name, commands));
  return await runEntry(entry, rest, options);
}

/** Every command takes the global options, whether it needs them or not. */
async function runEntry(
  entry: CommandEntry,
  argv: readonly string[],
  { console, env, variables = [] }: RunOptions,
): Promise<number> {
  const command = await entry.load();
  const program = {
    name: `svc ${entry.name}`,
    summary: entry.summary,
    options: { dataDir: DATA_DIR_OPTION, ...command.options },
    ...(entry.operands === undefined ? {} : { operands: entry.operands }),
  };
  const invocation = parseProgram(program, argv, env);
  if (invocation.kind === "print") {
    await console.output.write(invocation.text);
    return 0;
  }
  for (const note of unknownVariables(variables)) await console.notes.write(`svc: ${note}\n`);
  const { settings, operands } = invocation;
  try {
    return await command.run(settings, { operands, console, env }) ?? 0;
  } catch (error) {
    throw diskError(`run ${program.name}`, error);
  }
}

/** The global `--data-dir` may stand before the command's name: it is moved behind it. */
function splitCommand(argv: readonly string[]): { name: string | undefined; rest: string[] } {
  const first = argv[0] ?? "";
  const global = first === "--data-dir" ? 2 : first.startsWith("--data-dir=") ? 1 : 0;
  return { name: argv[global], rest: [...argv.slice(0, global), ...argv.slice(global + 1)] };
}

function overview(commands: readonly CommandEntry[]): string {
  const width = Math.max(...commands.map((entry) => entry.name.length));
  const rows = commands.map((entry) => `  ${entry.name.padEnd(width)}  ${entry.summary}`);
  return [
    "Usage: svc [--data-dir <DATA_DIR>] <command> [options]",
    "",
    "Stores logs and traces and answers SQL over them.",
    "",
    "Commands:",
    ...rows,
    "",
    "`svc <command> --help` shows the options of a command; `svc --version` shows the version.",
    "",
  ].join("\n");
}

function unknownCommand(name: string, commands: readonly CommandEntry[]): string {
  if (name.startsWith("-")) {
    return `Cannot take ${name} before a command: only --data-dir <DATA_DIR> may stand there, other options ` +
      "come behind the command they are for. See `svc --help`";
  }
  const near = nearestName(name, commands.map((entry) => entry.name));
  const remedy = near === undefined ? "" : ` Did you mean ${near}?`;
  return `Cannot run the command ${JSON.stringify(name)}: there is none of that name.${remedy} ` +
    "See `svc --help`";
}

function exitStatusOf(error: unknown): number | undefined {
  if (error instanceof UsageError) return 2;
  if (error instanceof OperatingError) return 1;
  return undefined;
}

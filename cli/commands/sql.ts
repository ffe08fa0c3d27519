/**
 * `svc sql [QUERY]`: asks a running query server. With a query one shot; without one a REPL on a
 * terminal, or each statement of what is piped in. With `--batch` statements are jobs, and `--job`
 * comes back to one.
 */

import process from "node:process";
import { isOperatingError, messageOf, UsageError } from "../../shared/base/errors.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { editText } from "../../shared/os/edit_text.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { onInterrupt } from "../../shared/os/signals.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { BackslashCommands, commandOf, type CommandOutcome } from "../sql/backslash_commands.ts";
import { SqlClient } from "../sql/client.ts";
import { History, historyPath } from "../sql/history.ts";
import { runRepl } from "../sql/repl.ts";
import { type JobOptions, runJob } from "../sql/run_job.ts";
import {
  type Extent,
  type Format,
  FORMATS,
  runStatement,
  type StatementOptions,
} from "../sql/run_statement.ts";
import { splitStatements } from "../sql/statements.ts";

export const OPTIONS = {
  endpoint: {
    kind: "text",
    flag: "endpoint",
    env: "SVC_ENDPOINT",
    placeholder: "URL",
    default: "http://localhost:8089",
    help: "Query server to ask.",
  },
  token: {
    kind: "text",
    flag: "token",
    env: "SVC_TOKEN",
    placeholder: "TOKEN",
    help: "Bearer token to send.",
  },
  format: {
    kind: "text",
    flag: "format",
    placeholder: "FORMAT",
    default: "table",
    choices: FORMATS,
    help: "How answers look; ndjson streams.",
  },
  dryRun: {
    kind: "switch",
    flag: "dry-run",
    help: "Show what the query would cost; run nothing.",
  },
  batch: {
    kind: "switch",
    flag: "batch",
    help:
      "Run each statement as a batch job, with its larger limits: wait for it, then show its result.",
  },
  job: {
    kind: "text",
    flag: "job",
    placeholder: "JOB_ID",
    help: "Wait for a batch job that was submitted before, then show its result.",
  },
  maxRows: {
    kind: "integer",
    flag: "max-rows",
    placeholder: "ROWS",
    min: 1,
    max: 1_000_000,
    help: "Most rows of an answer, as far as the server allows (default: 10000; with --batch " +
      "100000). If an answer is cut, a line on stderr says so, and the exit status is 3.",
  },
  quiet: {
    kind: "switch",
    flag: "quiet",
    help: "Print no statistics. A line about an answer that was cut is still printed.",
  },
  dataDir: {
    kind: "text",
    flag: "data-dir",
    placeholder: "DATA_DIR",
    default: "./data",
    hidden: true,
    help: "Taken because it is global; the server has the data.",
  },
} as const satisfies OptionTable;

export const command = defineCommand({ options: OPTIONS, run });

async function run(
  settings: Settings<typeof OPTIONS>,
  { operands, console, env }: CommandContext,
): Promise<number> {
  const { endpoint, token, dryRun, quiet, batch, job: id, maxRows: rowsMax } = settings;
  const format = settings.format as Format;
  const client = new SqlClient({ endpoint, token });
  const commands = new BackslashCommands(console, format);
  const options = (): StatementOptions => {
    const { format, expanded } = commands;
    return { format, expanded, dryRun, quiet, rowsMax };
  };
  const [query] = operands;
  if (id !== undefined) {
    if (query !== undefined) {
      throw new UsageError(
        "Cannot run a statement with --job, which fetches the result of an earlier one: give either",
      );
    }
    return await runAll(
      [id],
      console,
      (id) => runJob(client, { id }, console, jobOptions(options(), console)),
    );
  }
  const runOne = batch && !dryRun
    ? (query: string) => runJob(client, { query }, console, jobOptions(options(), console))
    : (query: string) => runStatement(client, query, console, options());
  if (query !== undefined) return await runAll([query], console, runOne);
  if (!console.input.isTerminal) return await runPiped(console, { commands, runOne });
  if (batch) throw new UsageError('Cannot run batch jobs from the prompt: give one, "SELECT …"');
  await runRepl({
    client,
    console,
    input: process.stdin,
    screen: process.stdout,
    history: new History(new DenoFileSystem(), historyPath(env)),
    edit: (text) => editText(text, env("VISUAL") || env("EDITOR") || "vi"),
    clock: new SystemClock(),
    format,
    dryRun,
    quiet,
    rowsMax,
    endpoint,
  });
  return 0;
}

/**
 * Runs statements and backslash commands as they arrive on stdin; one that fails does not keep the
 * next from running, and `\\q` ends it.
 */
async function runPiped(
  console: Console,
  { commands, runOne }: { readonly commands: BackslashCommands; readonly runOne: RunOne },
): Promise<number> {
  let open = "";
  let status = 0;
  const runPipedCommand = async (outcome: Exclude<CommandOutcome, string>): Promise<number> => {
    if (outcome.kind === "ask") return await runAll([outcome.sql], console, runOne);
    await console.notes.write(`svc: \\${outcome.kind} is for the prompt\n`);
    return 1;
  };
  for await (const line of linesOf(console.input.readable)) {
    const command = splitStatements(open).restIsBlank ? commandOf(line) : undefined;
    if (command !== undefined) {
      const outcome = await commands.run(command);
      if (outcome === "leave") return status;
      if (outcome === "refused") status = worseOf(status, 1);
      if (typeof outcome === "object") status = worseOf(status, await runPipedCommand(outcome));
      continue;
    }
    const { statements, rest } = splitStatements(open + line);
    open = rest;
    status = worseOf(status, await runAll(statements, console, runOne));
    if (status === INTERRUPTED_STATUS) return status;
  }
  if (splitStatements(open).restIsBlank) return status;
  return worseOf(status, await runAll([open.trim()], console, runOne));
}

/** Lines with their ends; the last may have none. */
async function* linesOf(readable: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let open = "";
  for await (const text of readable.pipeThrough(new TextDecoderStream())) {
    const lines = (open + text).split(/(?<=\n)/);
    open = lines.at(-1)?.endsWith("\n") === false ? lines.pop() ?? "" : "";
    yield* lines;
  }
  if (open !== "") yield open;
}

type RunOne = (wanted: string) => Promise<Extent>;

/** What a shell reports for a process that Ctrl-C ended. */
const INTERRUPTED_STATUS = 130;
/** All went well, but rows are missing. */
const CUT_STATUS = 3;

/** From the best to the worst. */
const STATUSES = [0, CUT_STATUS, 1, INTERRUPTED_STATUS];

function worseOf(one: number, other: number): number {
  return STATUSES.indexOf(one) > STATUSES.indexOf(other) ? one : other;
}

/**
 * The exit status: 1 when one failed, else 3 when one was cut; after an interrupt the others are
 * not run.
 */
async function runAll(
  statements: readonly string[],
  console: Console,
  runOne: RunOne,
): Promise<number> {
  let status = 0;
  for (const statement of statements) {
    try {
      if (await runOne(statement) === "cut") status = worseOf(status, CUT_STATUS);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await console.notes.write(`svc: ${messageOf(error)}\n`);
      if (error.code === "cancelled") return INTERRUPTED_STATUS;
      status = worseOf(status, 1);
    }
  }
  return status;
}

function jobOptions(options: StatementOptions, console: Console): JobOptions {
  const canAsk = console.input.isTerminal && console.notes.isTerminal;
  return {
    ...options,
    clock: new SystemClock(),
    onInterrupt,
    readLine: canAsk ? () => readLine(console) : undefined,
  };
}

/** One line from the terminal, which hands lines over whole. */
async function readLine({ input }: Console): Promise<string | undefined> {
  const reader = input.readable.getReader();
  try {
    const { value } = await reader.read();
    return value === undefined ? undefined : new TextDecoder().decode(value);
  } finally {
    reader.releaseLock();
  }
}

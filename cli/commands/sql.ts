/**
 * `svc sql [QUERY]`: asks a running query server. With a query one shot; without one a REPL on a terminal, or
 * each statement of what is piped in. With `--batch` statements are jobs, and `--job` comes back to one.
 */

import process from "node:process";
import { isOperatingError, messageOf, UsageError } from "../../shared/base/errors.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { onInterrupt } from "../../shared/os/signals.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { SqlClient } from "../sql/client.ts";
import { History, historyPath } from "../sql/history.ts";
import { runRepl } from "../sql/repl.ts";
import { type JobOptions, runJob } from "../sql/run_job.ts";
import { type Format, FORMATS, runStatement, type StatementOptions } from "../sql/run_statement.ts";
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
  quiet: {
    kind: "switch",
    flag: "quiet",
    help: "Leave out the line of statistics.",
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
  const { endpoint, token, dryRun, quiet, batch, job: id } = settings;
  const format = settings.format as Format;
  const client = new SqlClient({ endpoint, token });
  const options: StatementOptions = { format, dryRun, quiet };
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
      (id) => runJob(client, { id }, console, jobOptions(options, console)),
    );
  }
  const runOne = batch && !dryRun
    ? (query: string) => runJob(client, { query }, console, jobOptions(options, console))
    : (query: string) => runStatement(client, query, console, options);
  if (query !== undefined) return await runAll([query], console, runOne);
  if (!console.input.isTerminal) return await runPiped(console, runOne);
  if (batch) throw new UsageError('Cannot run batch jobs from the prompt: give one, "SELECT …"');
  await runRepl({
    client,
    console,
    input: process.stdin,
    screen: process.stdout,
    history: new History(new DenoFileSystem(), historyPath(env)),
    clock: new SystemClock(),
    format,
    dryRun,
    quiet,
    endpoint,
  });
  return 0;
}

/** Runs statements as they arrive on stdin; one that fails does not keep the next from running. */
async function runPiped(console: Console, runOne: RunOne): Promise<number> {
  let open = "";
  let status = 0;
  for await (const text of console.input.readable.pipeThrough(new TextDecoderStream())) {
    const { statements, rest } = splitStatements(open + text);
    open = rest;
    status = Math.max(status, await runAll(statements, console, runOne));
    if (status === INTERRUPTED_STATUS) return status;
  }
  if (splitStatements(open).restIsBlank) return status;
  return Math.max(status, await runAll([open.trim()], console, runOne));
}

type RunOne = (wanted: string) => Promise<void>;

/** What a shell reports for a process that Ctrl-C ended. */
const INTERRUPTED_STATUS = 130;

/** The exit status: 1 when one failed; after an interrupt the others are not run. */
async function runAll(
  statements: readonly string[],
  console: Console,
  runOne: RunOne,
): Promise<number> {
  let status = 0;
  for (const statement of statements) {
    try {
      await runOne(statement);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await console.notes.write(`svc: ${messageOf(error)}\n`);
      if (error.code === "cancelled") return INTERRUPTED_STATUS;
      status = 1;
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

/**
 * `svc sql [QUERY]`: asks a running query server. With a query one shot; without one a REPL on a terminal, or
 * each statement of what is piped in.
 */

import process from "node:process";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { SqlClient } from "../sql/client.ts";
import { History, historyPath } from "../sql/history.ts";
import { runRepl } from "../sql/repl.ts";
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
  const { endpoint, token, dryRun, quiet } = settings;
  const format = settings.format as Format;
  const client = new SqlClient({ endpoint, token });
  const [query] = operands;
  if (query !== undefined) return await runAll(client, [query], console, { format, dryRun, quiet });
  if (!console.input.isTerminal) return await runPiped(client, console, { format, dryRun, quiet });
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
async function runPiped(
  client: SqlClient,
  console: Console,
  options: StatementOptions,
): Promise<number> {
  let open = "";
  let status = 0;
  for await (const text of console.input.readable.pipeThrough(new TextDecoderStream())) {
    const { statements, rest } = splitStatements(open + text);
    open = rest;
    status = Math.max(status, await runAll(client, statements, console, options));
  }
  if (splitStatements(open).restIsBlank) return status;
  return Math.max(status, await runAll(client, [open.trim()], console, options));
}

/** The exit status: 1 when a statement failed. */
async function runAll(
  client: SqlClient,
  statements: readonly string[],
  console: Console,
  options: StatementOptions,
): Promise<number> {
  let status = 0;
  for (const statement of statements) {
    try {
      await runStatement(client, statement, console, options);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await console.notes.write(`svc: ${messageOf(error)}\n`);
      status = 1;
    }
  }
  return status;
}

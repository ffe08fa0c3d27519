/**
 * The interactive `svc sql`: statements over many lines up to `;`, backslash commands, history,
 * timing. Ctrl-C stops a running statement or clears what was typed, Ctrl-D leaves.
 *
 * Line editing is `node:readline`'s. What is typed while a statement runs waits for its turn.
 */

import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Console } from "../console.ts";
import { BackslashCommands, commandOf } from "./backslash_commands.ts";
import type { SqlClient } from "./client.ts";
import { type History, HISTORY_LENGTH_MAX } from "./history.ts";
import { type Format, runStatement } from "./run_statement.ts";
import { milliseconds } from "./statement_report.ts";
import { splitStatements } from "./statements.ts";

export interface ReplOptions {
  readonly client: SqlClient;
  readonly console: Console;
  /** The terminal itself, for line editing. */
  readonly input: Readable;
  readonly screen: Writable;
  readonly history: History;
  readonly clock: Clock;
  readonly format: Format;
  readonly dryRun: boolean;
  readonly quiet: boolean;
  /** `limits.max_rows_returned`; default: the server's. */
  readonly rowsMax?: number | undefined;
  /** Shown in the greeting. */
  readonly endpoint: string;
}

const PROMPT = "svc> ";
const PROMPT_MORE = "  -> ";

/** Runs until the user leaves. */
export async function runRepl(options: ReplOptions): Promise<void> {
  await options.history.load();
  const session = new ReplSession(options);
  if (!options.quiet) {
    await options.console.notes.write(`Connected to ${options.endpoint}. \\? for help.\n`);
  }
  await session.run();
}

class ReplSession {
  readonly #options: ReplOptions;
  readonly #lines: Interface;
  readonly #waiting: string[] = [];
  #wake: () => void = () => {};
  #ended = false;
  /** Lines of a statement that has no `;` yet. */
  #open = "";
  #running: AbortController | undefined;
  readonly #commands: BackslashCommands;

  constructor(options: ReplOptions) {
    this.#options = options;
    this.#commands = new BackslashCommands(options.console, options.format);
    this.#lines = createInterface({
      input: options.input,
      output: options.screen,
      terminal: true,
      history: [...options.history.entries].reverse(),
      historySize: HISTORY_LENGTH_MAX,
    });
    this.#lines.on("line", (line) => {
      this.#waiting.push(line);
      this.#wake();
    });
    this.#lines.on("close", () => {
      // Ctrl-D leaves the cursor behind the prompt.
      if (!this.#ended) this.#options.screen.write("\n");
      this.#ended = true;
      this.#running?.abort();
      this.#wake();
    });
    this.#lines.on("SIGINT", () => this.#interrupt());
  }

  async run(): Promise<void> {
    try {
      this.#showPrompt();
      for (let line = await this.#nextLine(); line !== undefined; line = await this.#nextLine()) {
        await this.#take(line);
        if (this.#ended) break;
        this.#showPrompt();
      }
    } finally {
      this.#lines.close();
    }
  }

  async #nextLine(): Promise<string | undefined> {
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#waiting.shift();
  }

  async #take(line: string): Promise<void> {
    const isFirst = this.#open === "";
    // Within a statement a word is part of it, and a backslash a slip.
    const command = isFirst || line.trim().startsWith("\\") ? commandOf(line) : undefined;
    if (command !== undefined) {
      if (await this.#commands.run(command) === "leave") this.#ended = true;
      return;
    }
    const { statements, rest, restIsBlank } = splitStatements(
      this.#open === "" ? line : `${this.#open}\n${line}`,
    );
    this.#open = restIsBlank ? "" : rest;
    for (const statement of statements) {
      await this.#options.history.add(`${statement};`);
      if (!await this.#execute(statement)) break;
    }
  }

  /** Whether the statement was answered. */
  async #execute(statement: string): Promise<boolean> {
    const { client, console, clock, dryRun, quiet } = this.#options;
    const running = new AbortController();
    this.#running = running;
    const startedMs = clock.monotonicMs();
    try {
      await runStatement(client, statement, console, {
        format: this.#commands.format,
        dryRun,
        quiet,
        rowsMax: this.#options.rowsMax,
        expanded: this.#commands.expanded,
        signal: running.signal,
      });
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await console.notes.write(`error: ${messageOf(error)}\n`);
      return false;
    } finally {
      this.#running = undefined;
    }
    if (this.#commands.timing && !quiet) {
      await console.notes.write(`time ${milliseconds(clock.monotonicMs() - startedMs)}\n`);
    }
    return true;
  }

  #interrupt(): void {
    if (this.#running !== undefined) return this.#running.abort();
    // Drops the line being edited, from its end to its start.
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#open = "";
    this.#options.screen.write("^C\n");
    this.#showPrompt();
  }

  #showPrompt(): void {
    this.#lines.setPrompt(this.#open === "" ? PROMPT : PROMPT_MORE);
    this.#lines.prompt();
  }
}

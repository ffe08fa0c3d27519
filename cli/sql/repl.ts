/**
 * The interactive `svc sql`: statements over many lines up to `;`, backslash commands, history,
 * timing. Ctrl-C stops a running statement or clears what was typed, Ctrl-D leaves.
 *
 * Line editing is `node:readline`'s, and Tab completes names (`completions.ts`). What is typed
 * while a statement runs waits for its turn.
 */

import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Console } from "../console.ts";
import { BackslashCommands, commandOf, type CommandOutcome } from "./backslash_commands.ts";
import type { SqlClient } from "./client.ts";
import { Completions } from "./completions.ts";
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
  /** Lets the user edit a text; undefined: it was left as it was. Errors: `OperatingError`. */
  readonly edit: (text: string) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly format: Format;
  readonly dryRun: boolean;
  readonly quiet: boolean;
  /** `limits.max_rows_returned`; default: the server's. */
  readonly rowsMax?: number | undefined;
  /** Shown in the greeting. */
  readonly endpoint: string;
}

/** How `node:readline` is told what a word may become. */
type Tell = (error: null, found: [string[], string]) => void;

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
  /** The statement that was run last. */
  #last = "";
  #running: AbortController | undefined;
  /** Ends `\\watch`. */
  #watching: AbortController | undefined;
  readonly #commands: BackslashCommands;

  constructor(options: ReplOptions) {
    this.#options = options;
    this.#commands = new BackslashCommands(options.console, options.format);
    const completions = new Completions(options.client, options.clock);
    this.#lines = createInterface({
      input: options.input,
      output: options.screen,
      terminal: true,
      history: [...options.history.entries].reverse(),
      historySize: HISTORY_LENGTH_MAX,
      completer: (line: string, tell: Tell) => {
        completions.complete(line, this.#open).then((found) => tell(null, found));
      },
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
      const outcome = await this.#commands.run(command);
      if (outcome === "leave") this.#ended = true;
      if (typeof outcome === "object") await this.#obey(outcome);
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

  async #obey(outcome: Exclude<CommandOutcome, string>): Promise<void> {
    switch (outcome.kind) {
      case "ask":
        await this.#run(outcome.sql);
        return;
      case "watch":
        return await this.#watch(outcome.secs);
      case "edit":
        return await this.#edit();
    }
  }

  /** What was typed and not ended yet, or else the statement that was run last. */
  #current(): string {
    const typed = this.#open;
    this.#open = "";
    return typed.trim() === "" ? this.#last : typed.trim();
  }

  async #watch(secs: number): Promise<void> {
    const { console, clock } = this.#options;
    const statement = this.#current();
    if (statement === "") {
      await console.notes.write("error: there is no statement to watch: type one first\n");
      return;
    }
    const watching = new AbortController();
    this.#watching = watching;
    try {
      while (!watching.signal.aborted && !this.#ended) {
        const now = new Date(clock.nowMs()).toISOString();
        await console.notes.write(`${now} (every ${secs} s)\n`);
        if (!await this.#execute(statement)) return;
        await clock.sleep(secs * 1_000, { signal: watching.signal }).catch(() => {});
      }
    } finally {
      this.#watching = undefined;
    }
  }

  /** Takes what was edited as if it had been typed. */
  async #edit(): Promise<void> {
    const text = this.#current();
    this.#lines.pause();
    try {
      const edited = await this.#options.edit(
        text === this.#last && text !== "" ? `${text};` : text,
      );
      if (edited === undefined) return;
      const lines = edited.trimEnd().split("\n");
      this.#options.screen.write(`${lines.join("\n")}\n`);
      this.#waiting.unshift(...lines);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await this.#options.console.notes.write(`error: ${messageOf(error)}\n`);
    } finally {
      this.#lines.resume();
    }
  }

  /** Whether the statement was answered. */
  async #execute(statement: string): Promise<boolean> {
    this.#last = statement;
    return await this.#run(statement);
  }

  async #run(statement: string): Promise<boolean> {
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
    const isBusy = this.#running !== undefined || this.#watching !== undefined;
    this.#watching?.abort();
    this.#running?.abort();
    if (isBusy) return;
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

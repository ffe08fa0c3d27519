/**
 * The interactive `svc sql`: statements over many lines up to `;`, backslash commands, history, timing. Ctrl-C
 * stops a running statement or clears what was typed, Ctrl-D leaves.
 *
 * Line editing is `node:readline`'s. What is typed while a statement runs waits for its turn.
 */

import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Console } from "../console.ts";
import { EXPANDED, type Expanded } from "./answer_text.ts";
import type { SqlClient } from "./client.ts";
import { type History, HISTORY_LENGTH_MAX } from "./history.ts";
import { type Format, FORMATS, runStatement } from "./run_statement.ts";
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
  /** Shown in the greeting. */
  readonly endpoint: string;
}

const PROMPT = "svc> ";
const PROMPT_MORE = "  -> ";

const HELP = [
  "Statements end with ; and may span lines.",
  "  \\format table|json|ndjson   how answers look",
  "  \\x auto|on|off              a line per value: when rows are too wide, always, never",
  "  \\timing                     show or hide the time a statement took",
  "  \\?                          this help",
  "  \\q                          leave (also exit, quit, Ctrl-D)",
  "Ctrl-C stops a running statement, or clears what was typed.",
].join("\n");

/** What people try who do not know the commands; no statement begins so. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["exit", "\\q"],
  ["quit", "\\q"],
  ["help", "\\?"],
]);

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
  #format: Format;
  #expanded: Expanded = "auto";
  #timing = true;

  constructor(options: ReplOptions) {
    this.#options = options;
    this.#format = options.format;
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
    const text = line.trim();
    if (text.startsWith("\\")) return await this.#command(text);
    const meant = this.#open === "" ? WORDS.get(text.replace(/;$/, "").toLowerCase()) : undefined;
    if (meant !== undefined) return await this.#command(meant);
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
        format: this.#format,
        dryRun,
        quiet,
        expanded: this.#expanded,
        signal: running.signal,
      });
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await console.notes.write(`error: ${messageOf(error)}\n`);
      return false;
    } finally {
      this.#running = undefined;
    }
    if (this.#timing && !quiet) {
      await console.notes.write(`time ${milliseconds(clock.monotonicMs() - startedMs)}\n`);
    }
    return true;
  }

  async #command(text: string): Promise<void> {
    const { notes } = this.#options.console;
    const [name = "", argument = ""] = text.split(/\s+/, 2);
    switch (name) {
      case "\\q":
        this.#ended = true;
        return;
      case "\\?":
        return await notes.write(`${HELP}\n`);
      case "\\timing":
        this.#timing = !this.#timing;
        return await notes.write(`timing is ${this.#timing ? "on" : "off"}\n`);
      case "\\format":
        this.#format = await this.#choice("format", FORMATS, argument) ?? this.#format;
        return;
      case "\\x":
        this.#expanded = await this.#choice("x", EXPANDED, argument) ?? this.#expanded;
        return;
      default:
        return await notes.write(`error: there is no command ${name}; \\? lists them\n`);
    }
  }

  /** `argument` as one of `choices`; tells the user and gives undefined when it is none. */
  async #choice<T extends string>(
    command: string,
    choices: readonly T[],
    argument: string,
  ): Promise<T | undefined> {
    const chosen = choices.find((candidate) => candidate === argument);
    if (chosen === undefined) {
      const { notes } = this.#options.console;
      await notes.write(
        `error: cannot use \\${command} ${JSON.stringify(argument)}: give ${choices.join(", ")}\n`,
      );
    }
    return chosen;
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

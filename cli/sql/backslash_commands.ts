/**
 * Backslash commands, the same at the prompt and in what is piped in, and how answers look because
 * of them.
 */

import type { Console } from "../console.ts";
import { EXPANDED, type Expanded } from "./answer_text.ts";
import { type Format, FORMATS } from "./run_statement.ts";

const HELP = [
  "Statements end with ; and may span lines.",
  "  \\format table|json|ndjson   how answers look",
  "  \\x auto|on|off              a line per value: when rows are too wide, always, never",
  "  \\timing                     show or hide the time a statement took",
  "  \\?                          this help",
  "  \\q                          leave (also exit, quit, Ctrl-D)",
  "Ctrl-C stops a running statement, or clears what was typed.",
].join("\n");

/** Words that people try before they know the commands; no statement begins so. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["exit", "\\q"],
  ["quit", "\\q"],
  ["help", "\\?"],
]);

/** The command that a line is, which begins no statement's rest; undefined: it is SQL. */
export function commandOf(line: string): string | undefined {
  const text = line.trim();
  return text.startsWith("\\") ? text : WORDS.get(text.replace(/;$/, "").toLowerCase());
}

/**
 * `leave`: no more statements are wanted. `refused`: it was no command, or not with that argument,
 * and a message said so.
 */
export type CommandOutcome = "done" | "leave" | "refused";

export class BackslashCommands {
  format: Format;
  expanded: Expanded = "auto";
  timing = true;
  readonly #notes: Console["notes"];

  constructor({ notes }: Pick<Console, "notes">, format: Format) {
    this.#notes = notes;
    this.format = format;
  }

  async run(text: string): Promise<CommandOutcome> {
    const [name = "", argument = ""] = text.replace(/;$/, "").split(/\s+/, 2);
    switch (name) {
      case "\\q":
        return "leave";
      case "\\?":
        await this.#notes.write(`${HELP}\n`);
        return "done";
      case "\\timing":
        this.timing = !this.timing;
        await this.#notes.write(`timing is ${this.timing ? "on" : "off"}\n`);
        return "done";
      case "\\format": {
        const format = await this.#choice("format", FORMATS, argument);
        this.format = format ?? this.format;
        return format === undefined ? "refused" : "done";
      }
      case "\\x": {
        const expanded = await this.#choice("x", EXPANDED, argument);
        this.expanded = expanded ?? this.expanded;
        return expanded === undefined ? "refused" : "done";
      }
      default:
        await this.#notes.write(`error: there is no command ${name}; \\? lists them\n`);
        return "refused";
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
      await this.#notes.write(
        `error: cannot use \\${command} ${JSON.stringify(argument)}: give ${choices.join(", ")}\n`,
      );
    }
    return chosen;
  }
}

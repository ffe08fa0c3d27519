/**
 * Backslash commands, the same at the prompt and in what is piped in, and how answers look because
 * of them.
 */

import { quoteText } from "../../shared/engine/duckdb/statement_text.ts";
import type { Console } from "../console.ts";
import { EXPANDED, type Expanded } from "./answer_text.ts";
import { type Format, FORMATS } from "./run_statement.ts";

const HELP = [
  "Statements end with ; and may span lines.",
  "  \\format table|json|ndjson   how answers look",
  "  \\x [auto|on|off]            a line per value: when rows are too wide, always, never",
  "  \\timing [on|off]            show or hide the time a statement took",
  "  \\dt                         the tables",
  "  \\d TABLE                    the columns of a table, with their comments",
  "  \\e                          edit the statement in $EDITOR, then run it if it ends with ;",
  "  \\watch [SECONDS]            run the statement again and again, until Ctrl-C",
  "  \\?                          this help",
  "  \\q                          leave (also exit, quit, Ctrl-D)",
  "Ctrl-C stops a running statement, or clears what was typed. Tab completes names.",
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
 * and a message said so. The others are for the prompt, or for whoever runs statements, to do.
 */
export type CommandOutcome =
  | "done"
  | "leave"
  | "refused"
  | { readonly kind: "ask"; readonly sql: string }
  | { readonly kind: "edit" }
  | { readonly kind: "watch"; readonly secs: number };

const TABLES_SQL = 'SELECT table_name AS "table", table_comment AS comment ' +
  "FROM information_schema.tables ORDER BY 1";

/** The columns of a table, by its name with or without its schema. */
function columnsSql(name: string): string {
  const table = name.replaceAll('"', "").split(".").at(-1) ?? "";
  return 'SELECT a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type, ' +
    "CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS nullable, " +
    "col_description(a.attrelid, a.attnum) AS comment FROM pg_catalog.pg_attribute a " +
    "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid " +
    `WHERE c.relname = ${quoteText(table.toLowerCase())} ORDER BY a.attnum`;
}

/** Seconds between two runs of `\\watch`: how many without a number, and at most. */
const WATCH_SECS = { default: 2, max: 86_400 };

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
      case "\\timing": {
        const wanted = argument === "" ? this.timing ? "off" : "on" : argument;
        const chosen = await this.#choice("timing", ["on", "off"], wanted);
        if (chosen === undefined) return "refused";
        this.timing = chosen === "on";
        await this.#notes.write(`timing is ${chosen}\n`);
        return "done";
      }
      case "\\d":
      case "\\dt":
        return { kind: "ask", sql: argument === "" ? TABLES_SQL : columnsSql(argument) };
      case "\\e":
        return { kind: "edit" };
      case "\\watch":
        return await this.#watch(argument);
      case "\\format": {
        const format = await this.#choice("format", FORMATS, argument);
        this.format = format ?? this.format;
        return format === undefined ? "refused" : "done";
      }
      case "\\x": {
        const wanted = argument === "" ? this.expanded === "on" ? "auto" : "on" : argument;
        const expanded = await this.#choice("x", EXPANDED, wanted);
        this.expanded = expanded ?? this.expanded;
        return expanded === undefined ? "refused" : "done";
      }
      default:
        await this.#notes.write(`error: there is no command ${name}; \\? lists them\n`);
        return "refused";
    }
  }

  async #watch(argument: string): Promise<CommandOutcome> {
    const secs = argument === "" ? WATCH_SECS.default : Number(argument);
    if (secs > 0 && secs <= WATCH_SECS.max) return { kind: "watch", secs };
    await this.#notes.write(
      `error: cannot use \\watch ${
        JSON.stringify(argument)
      }: give seconds, at most ${WATCH_SECS.max}\n`,
    );
    return "refused";
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

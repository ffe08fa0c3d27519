/**
 * Options of one program or command: a table of `OptionSpec` becomes parsed settings and `--help`.
 *
 * Precedence: flag, then environment variable, then default. The environment is handed in as a
 * lookup by name, so a process needs permission only for the names in its table. An empty variable
 * counts as unset, unless its option says otherwise (`emptyCounts`, `itemRequired`). `commander`
 * splits the command line, suggests near names and lays out the help; values are validated here, so
 * that a flag and its variable fail with the same words.
 */

import { Command, CommanderError, Option } from "commander";
import { UsageError } from "../base/errors.ts";
import type { OptionSpec, OptionTable, Settings } from "./options.ts";

/** Looks one environment variable up. */
export type Environment = (name: string) => string | undefined;

/** What `parseProgram` needs to know of a program besides its options. */
export interface Program<T extends OptionTable> {
  /** What a user types to start it: `svc sql`. */
  readonly name: string;
  readonly summary: string;
  readonly options: T;
  /** Operands in commander's notation, for example `[query]`; none when absent. */
  readonly operands?: string;
  readonly version?: string;
}

export type Invocation<T extends OptionTable> =
  | { readonly kind: "run"; readonly settings: Settings<T>; readonly operands: readonly string[] }
  /** `--help` or `--version`: `text` goes to stdout and the exit status is 0. */
  | { readonly kind: "print"; readonly text: string };

const HELP_WIDTH = 100;
const SWITCH_ON = new Set(["1", "true", "yes", "on"]);

/** Parses `argv` (without the program's name). Throws `UsageError`. */
export function parseProgram<T extends OptionTable>(
  program: Program<T>,
  argv: readonly string[],
  env: Environment,
): Invocation<T> {
  let printed = "";
  const command = buildCommand(program, (text) => printed += text);
  const { words, off } = plainSwitches(program.options, argv);
  try {
    command.parse(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "print", text: printed };
    throw new UsageError(usageText(error, program.name));
  }
  const flags = { ...command.opts<Flags>(), ...off };
  return { kind: "run", settings: settingsOf(program.options, flags, env), operands: command.args };
}

/**
 * Parses options alone, for tests and for processes without operands or help. Throws `UsageError`.
 */
export function parseOptions<T extends OptionTable>(
  table: T,
  argv: readonly string[],
  env: Environment = () => undefined,
): Settings<T> {
  const invocation = parseProgram({ name: "svc", summary: "", options: table }, argv, env);
  if (invocation.kind === "print") throw new UsageError("Cannot show help here: give options only");
  return invocation.settings;
}

/** The text of `--help`. */
export function helpText<T extends OptionTable>(program: Program<T>): string {
  return buildCommand(program, () => {}).helpInformation();
}

function buildCommand<T extends OptionTable>(
  program: Program<T>,
  print: (text: string) => void,
): Command {
  const command = new Command(program.name)
    .description(program.summary)
    .helpOption("-h, --help", "Show this help.")
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: () => {},
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  if (program.version !== undefined) {
    command.version(program.version, "-V, --version", "Show the version.");
  }
  if (program.operands !== undefined) command.arguments(program.operands);
  for (const [key, spec] of Object.entries(program.options)) command.addOption(toOption(key, spec));
  return command;
}

function toOption(key: string, spec: OptionSpec): Option {
  const value = spec.kind === "switch" ? "" : ` <${spec.placeholder}>`;
  const option = new Option(`--${spec.flag}${value}`, describe(spec)).hideHelp(
    spec.hidden ?? false,
  );
  option.attributeName = () => key;
  // Commander takes `--no-x` for the opposite of a switch `--x`, which no table has.
  option.negate = false;
  if (spec.kind === "list") {
    option.argParser((next: string, before: string | undefined) =>
      before === undefined ? next : `${before},${next}`
    );
  }
  return option;
}

function describe(spec: OptionSpec): string {
  const notes: string[] = [];
  if (spec.kind === "text" && spec.choices !== undefined) {
    notes.push(`one of ${spec.choices.join(", ")}`);
  }
  if ((spec.kind === "text" || spec.kind === "integer") && spec.default !== undefined) {
    notes.push(`default ${spec.default === "" ? "empty" : spec.default}`);
  }
  if (spec.env !== undefined) notes.push(`env ${spec.env}`);
  return notes.length === 0 ? spec.help : `${spec.help} (${notes.join("; ")})`;
}

/** Values of the command line by the table's keys; `false` for a switch that it turns off. */
type Flags = Readonly<Record<string, string | boolean | undefined>>;

/**
 * Commander knows switches only bare: `--switch=yes` becomes one, `--switch=no` is taken out of the
 * words and is `off`, over its variable as well. When a switch comes several times, the last one
 * counts.
 */
function plainSwitches(
  table: OptionTable,
  argv: readonly string[],
): { readonly words: readonly string[]; readonly off: Flags } {
  const end = argv.indexOf("--");
  const keys = new Map<string, string>();
  for (const [key, spec] of Object.entries(table)) {
    if (spec.kind === "switch") keys.set(`--${spec.flag}`, key);
  }
  const off: Record<string, false> = {};
  const words = argv.flatMap((word, at) => {
    const [flag = "", value] = word.split("=", 2);
    const key = keys.get(flag);
    if (key === undefined || (end >= 0 && at > end)) return [word];
    if (value === undefined || isOn(value)) {
      delete off[key];
      return [flag];
    }
    off[key] = false;
    return [];
  });
  return { words, off };
}

function settingsOf<T extends OptionTable>(
  table: T,
  flags: Flags,
  env: Environment,
): Settings<T> {
  const settings: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(table)) {
    const flag = flags[key];
    const variable = variableOf(spec, env);
    if (flag !== undefined) {
      settings[key] = typeof flag === "boolean" ? flag : read(spec, flag, `--${spec.flag}`);
    } else if (variable !== undefined) {
      settings[key] = read(spec, variable, spec.env ?? "");
    } else {
      settings[key] = absent(spec);
    }
  }
  return settings as Settings<T>;
}

function variableOf(spec: OptionSpec, env: Environment): string | undefined {
  const text = spec.env === undefined ? undefined : env(spec.env);
  const emptyCounts = spec.kind === "text"
    ? spec.emptyCounts === true
    : spec.kind === "list" && spec.itemRequired === true;
  const counts = text !== "" || emptyCounts;
  return counts ? text : undefined;
}

function absent(spec: OptionSpec): string | number | boolean | readonly string[] | undefined {
  switch (spec.kind) {
    case "switch":
      return false;
    case "list":
      return [];
    default: {
      if (spec.default !== undefined || spec.required !== true) return spec.default;
      const instead = spec.env === undefined ? "" : ` or set ${spec.env}`;
      throw new UsageError(
        `Cannot go without --${spec.flag}: give --${spec.flag} <${spec.placeholder}>${instead}`,
      );
    }
  }
}

function read(spec: OptionSpec, text: string, origin: string) {
  switch (spec.kind) {
    case "switch":
      return isOn(text);
    case "list":
      return readList(text, origin, spec.itemRequired ?? false);
    case "integer":
      return readInteger(text, origin, spec);
    case "text":
      if (spec.choices !== undefined && !spec.choices.includes(text)) {
        throw new UsageError(
          `Cannot take ${origin} ${quoted(text)}: give one of ${spec.choices.join(", ")}`,
        );
      }
      return text;
  }
}

function readList(text: string, origin: string, itemRequired: boolean): readonly string[] {
  const items = text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  if (items.length > 0 || !itemRequired) return items;
  throw new UsageError(`Cannot take ${origin} without an item: give at least one, or leave it out`);
}

function readInteger(text: string, origin: string, range: { min: number; max: number }): number {
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (value >= range.min && value <= range.max) return value;
  throw new UsageError(
    `Cannot take ${origin} ${quoted(text)}: give a whole number from ${range.min} to ${range.max}`,
  );
}

/** What switches a switch on in the environment, and after `--switch=`. */
export function isOn(text: string): boolean {
  return SWITCH_ON.has(text.trim().toLowerCase());
}

/** A word as it is, anything else in JSON's quotes. */
function quoted(text: string): string {
  return /^[\w.+:/-]+$/.test(text) ? text : JSON.stringify(text);
}

function usageText(error: CommanderError, program: string): string {
  const reason = error.message.replace(/^error: /, "").replaceAll("\n", " ");
  return `Cannot understand the command line: ${reason}; see \`${program} --help\``;
}

/** What a command of `svc` is. `commands.ts` lists them; `main.ts` runs the one that was named. */

import type { OptionTable, Settings } from "../shared/config/options.ts";
import type { Environment } from "../shared/config/parse_options.ts";
import type { Console } from "./console.ts";

export interface Command<T extends OptionTable = OptionTable> {
  readonly options: T;
  /**
   * Runs the command; the exit status, 0 when it returns none. What the user asked for goes to
   * `console.output`, everything else to stderr. Operating errors are thrown: `main.ts` prints them
   * as one line and exits with 1.
   */
  run(settings: Settings<T>, context: CommandContext): Promise<number | void>;
}

export interface CommandContext {
  /** What followed the options, as many as the command's row in `commands.ts` allows. */
  readonly operands: readonly string[];
  readonly console: Console;
  readonly env: Environment;
}

/** A row of `commands.ts`. */
export interface CommandEntry {
  readonly name: string;
  /** One sentence for `svc --help`. */
  readonly summary: string;
  /** Operands in commander's notation, for example `[query]`; none when absent. */
  readonly operands?: string;
  /** Imports the command's file: nothing of a command is loaded unless it is the one that runs. */
  load(): Promise<AnyCommand>;
}

/** A command whose option table is checked inside and forgotten outside. */
export type AnyCommand = Command<OptionTable>;

/**
 * Ties the type of `run`'s settings to the table, then forgets it so that commands fit in one list.
 */
export function defineCommand<T extends OptionTable>(command: Command<T>): AnyCommand {
  return command as unknown as AnyCommand;
}

/**
 * What an option is. Each role and command has one table of these; parsing, `--help`, environment
 * variables and the documentation tests derive from it.
 */

interface OptionBase {
  /** Long flag without dashes: `wal-max-events`. */
  readonly flag: string;
  /** Environment variable; the flag wins over it. */
  readonly env?: string;
  /** Help text: one sentence with unit and effect. */
  readonly help: string;
  /** Not shown in help (internal wiring between our own processes). */
  readonly hidden?: boolean;
}

/** Text, or one of a few words. */
export interface TextOption extends OptionBase {
  readonly kind: "text";
  /** Shown in help as `<placeholder>`. */
  readonly placeholder: string;
  readonly default?: string;
  /** The only values taken. */
  readonly choices?: readonly string[];
  /** An empty variable is a value, as an empty flag is: where it says something else than none. */
  readonly emptyCounts?: boolean;
  readonly required?: boolean;
}

/** A whole number within bounds. */
export interface IntegerOption extends OptionBase {
  readonly kind: "integer";
  readonly placeholder: string;
  readonly default?: number;
  readonly min: number;
  readonly max: number;
  readonly required?: boolean;
}

/** Bare flag, or in the environment `1`, `true`, `yes`, `on`; anything else leaves it off. */
export interface SwitchOption extends OptionBase {
  readonly kind: "switch";
}

/** Comma-separated; empty items are dropped. */
export interface ListOption extends OptionBase {
  readonly kind: "list";
  readonly placeholder: string;
  /**
   * Given without an item it is an error, as an empty variable too: where an empty list would mean
   * "anybody".
   */
  readonly itemRequired?: boolean;
}

export type OptionSpec = TextOption | IntegerOption | SwitchOption | ListOption;

export type OptionTable = Readonly<Record<string, OptionSpec>>;

type HasValue<O> = O extends { readonly default: string | number } ? true
  : O extends { readonly required: true } ? true
  : false;

/** The type that one option's value has once parsed. */
export type OptionValue<O extends OptionSpec> = O["kind"] extends "switch" ? boolean
  : O["kind"] extends "list" ? readonly string[]
  : O["kind"] extends "integer" ? (HasValue<O> extends true ? number : number | undefined)
  : (HasValue<O> extends true ? string : string | undefined);

/** Parsed values of a table, keyed like the table. */
export type Settings<T extends OptionTable> = { readonly [K in keyof T]: OptionValue<T[K]> };

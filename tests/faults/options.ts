/** What a run may be told; `--help` prints this. */

import { Command, InvalidArgumentError, Option } from "commander";
import type { Fault } from "./fault.ts";

export interface RunOptions {
  /** How long rounds may begin, in ms. */
  readonly msMax: number;
  /** How many rounds may begin. */
  readonly roundsMax: number;
  readonly seed: number;
  readonly only: readonly string[];
  /** Where the disk of a round with findings goes; nowhere when absent. */
  readonly keep: string | undefined;
}

const MINUTE_MS = 60_000;

/** Reads the arguments. Errors: prints what is wrong, or the help, and ends the process. */
export function parseRunOptions(args: readonly string[], faults: readonly Fault[]): RunOptions {
  const names = faults.map(({ name }) => name);
  const command = new Command("faults")
    .description(
      "Injects faults into real processes on a real disk, and compares what they answer with what " +
        "they acknowledged. Needs root, /dev/fuse and loop devices.",
    )
    .addOption(
      new Option("--minutes <n>", "how long rounds begin").argParser(positive).default(10),
    )
    .addOption(new Option("--hours <n>", "the same in hours").argParser(positive))
    .addOption(
      new Option("--rounds <n>", "at most so many rounds").argParser(positive)
        .default(Number.POSITIVE_INFINITY, "no bound"),
    )
    .addOption(
      new Option("--only <names>", "kinds of faults, with commas between").argParser((text) =>
        chosen(text, names)
      ).default(names, "all"),
    )
    .addOption(
      new Option("--seed <n>", "what the first round's randomness begins with; the next adds 1")
        .argParser(natural).default(Math.floor(Math.random() * 1_000_000), "another each time"),
    )
    .addOption(new Option("--keep <folder>", "copies what a round with findings left on disk here"))
    .addHelpText("after", () => `\nKinds of faults:\n${kindsText(faults)}`)
    .addHelpText(
      "after",
      "\nThe results go to standard output as a table. Exit status: 0 when nothing was found, 1 when\n" +
        "something was or a control found nothing, 2 when it cannot run here.",
    )
    .parse([...args], { from: "user" });
  const { minutes, hours, rounds, ...rest } = command.opts<
    Omit<RunOptions, "msMax" | "roundsMax"> & { minutes: number; hours?: number; rounds: number }
  >();
  const msMax = (hours === undefined ? minutes : hours * 60) * MINUTE_MS;
  return { seed: rest.seed, only: rest.only, keep: rest.keep, msMax, roundsMax: rounds };
}

function kindsText(faults: readonly Fault[]): string {
  const width = Math.max(...faults.map(({ name }) => name.length));
  return faults.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
}

function positive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("it takes a number above 0.");
}

function natural(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError("it takes a whole number from 0 on.");
}

function chosen(text: string, names: readonly string[]): readonly string[] {
  const wanted = text.split(",");
  const unknown = wanted.filter((name) => !names.includes(name));
  if (unknown.length === 0) return wanted;
  throw new InvalidArgumentError(
    `there is no ${unknown.join(", ")}; choose from ${names.join(", ")}.`,
  );
}

/**
 * The life of a role's program: parse, set up logging, run until asked to end. Results go to
 * stdout, logs and errors to stderr. Calls `Deno` for arguments, environment, streams and the exit
 * status.
 *
 * Exit status: 0; 1 for an operating error, told in one line; 2 for wrong usage. A bug ends with
 * its stack.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, placedMessageOf, UsageError } from "../base/errors.ts";
import { configureLogging, type LogThreshold } from "../logging/logging.ts";
import { variableNames } from "../os/environment.ts";
import { listenForEnd } from "../os/signals.ts";
import type { OptionTable, Settings, SwitchOption } from "./options.ts";
import { parseProgram, type Program } from "./parse_options.ts";
import { unknownVariables } from "./unknown_variables.ts";

/** What a role's options have. */
type ProgramOptions = OptionTable & {
  readonly logLevel: unknown;
  readonly endWithStdin: SwitchOption;
};

/** Runs until `endRequested` resolves, or is done before; what it returns is printed. */
export type RunRole<T extends OptionTable> = (
  settings: Settings<T>,
  endRequested: Promise<unknown>,
) => Promise<string | undefined>;

/** Runs `program` with the process's arguments and ends the process. */
export async function runProgram<T extends ProgramOptions>(
  program: Program<T>,
  run: RunRole<T>,
): Promise<never> {
  Deno.exit(await statusOf(program, run));
}

async function statusOf<T extends ProgramOptions>(
  program: Program<T>,
  run: RunRole<T>,
): Promise<number> {
  try {
    const invocation = parseProgram(program, Deno.args, (name) => Deno.env.get(name));
    if (invocation.kind === "print") {
      await print(Deno.stdout, invocation.text);
      return 0;
    }
    const { settings } = invocation;
    await configureLogging({ level: settings.logLevel as LogThreshold });
    for (const note of unknownVariables(variableNames())) getLogger(["svc", "config"]).warn(note);
    using end = listenForEnd(settings as { readonly endWithStdin: boolean });
    const result = await run(settings, end.requested);
    if (result !== undefined) await print(Deno.stdout, `${result}\n`);
    return 0;
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    await print(Deno.stderr, `${program.name}: ${placedMessageOf(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function print(stream: { write(bytes: Uint8Array): Promise<number> }, text: string) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await stream.write(bytes.subarray(at));
}

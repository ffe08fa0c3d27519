/** The compactor as a program: parses, starts, waits to be asked to end, stops. Permissions: set `compactor`. */

import { isOperatingError } from "../shared/base/errors.ts";
import { VERSION } from "../shared/base/version.ts";
import { parseProgram, UsageError } from "../shared/config/parse_options.ts";
import { configureLogging, type LogThreshold } from "../shared/os/logging.ts";
import { listenForEnd } from "../shared/os/signals.ts";
import { OPTIONS, runOnce, startCompactor } from "./mod.ts";

const PROGRAM = {
  name: "svc-compactor",
  summary: "Commits the write-ahead log to Iceberg tables and tidies up behind it.",
  options: OPTIONS,
  version: VERSION,
};

async function main(argv: readonly string[]): Promise<number> {
  const encoder = new TextEncoder();
  try {
    const invocation = parseProgram(PROGRAM, argv, (name) => Deno.env.get(name));
    if (invocation.kind === "print") {
      await Deno.stdout.write(encoder.encode(invocation.text));
      return 0;
    }
    const { settings } = invocation;
    await configureLogging({ level: settings.logLevel as LogThreshold });
    using end = listenForEnd();
    if (settings.once) {
      const ending = new AbortController();
      end.requested.then(() => ending.abort(new Error("asked to end")));
      const summary = await runOnce(settings, { signal: ending.signal });
      await Deno.stdout.write(encoder.encode(`${summary}\n`));
      return 0;
    }
    await using _compactor = await startCompactor(settings);
    await end.requested;
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError) && !isOperatingError(error)) throw error;
    await Deno.stderr.write(encoder.encode(`${PROGRAM.name}: ${error.message}\n`));
    return error instanceof UsageError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));

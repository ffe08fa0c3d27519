/**
 * The ingest server as a program: parses, starts, waits to be asked to end, stops. Permissions: set
 * `ingest`.
 */

import { isOperatingError } from "../shared/base/errors.ts";
import { VERSION } from "../shared/base/version.ts";
import { parseProgram, UsageError } from "../shared/config/parse_options.ts";
import { configureLogging, type LogThreshold } from "../shared/os/logging.ts";
import { listenForEnd } from "../shared/os/signals.ts";
import { OPTIONS, startIngest } from "./mod.ts";

const PROGRAM = {
  name: "svc-ingest-server",
  summary: "Takes OpenTelemetry logs over HTTP and makes them durable: POST /v1/logs.",
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
    await using _server = await startIngest(settings);
    await end.requested;
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError) && !isOperatingError(error)) throw error;
    await Deno.stderr.write(encoder.encode(`${PROGRAM.name}: ${error.message}\n`));
    return error instanceof UsageError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));

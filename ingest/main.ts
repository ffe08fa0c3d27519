/** The ingest server as a program. Permissions: set `ingest` of `deno.json`. */

import { VERSION } from "../shared/base/version.ts";
import { runProgram } from "../shared/config/run_program.ts";
import { OPTIONS, startIngest } from "./mod.ts";

const PROGRAM = {
  name: "svc-ingest-server",
  summary: "Takes logs and traces over OTLP/HTTP, OTLP/gRPC and bulk, and makes them durable.",
  options: OPTIONS,
  version: VERSION,
};

if (import.meta.main) {
  await runProgram(PROGRAM, async (settings, endRequested) => {
    await using _server = await startIngest(settings);
    await endRequested;
    return undefined;
  });
}

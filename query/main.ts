/**
 * `svc-query-server`, the query server as a program. Permissions: set `query` of `deno.json`. As a
 * compiled binary it is also what runs DuckDB: it starts itself for that.
 */

import { VERSION } from "../shared/base/version.ts";
import { runProgram } from "../shared/config/run_program.ts";
import { isEngineProcess } from "../shared/engine/duckdb/process/engine_process.ts";
import { OPTIONS, startQuery } from "./mod.ts";

const PROGRAM = {
  name: "svc-query-server",
  summary: "Answers SQL over stored logs: POST /api/v1/sql.",
  options: OPTIONS,
  version: VERSION,
};

if (import.meta.main && !isEngineProcess()) {
  await runProgram(PROGRAM, async (settings, endRequested) => {
    await using _server = await startQuery(settings);
    await endRequested;
    return undefined;
  });
}

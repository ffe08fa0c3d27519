/**
 * `svc-query-server`, the query server as a program. Its permissions are the set `query` of
 * `deno.json`. The compiled binary also runs DuckDB: it starts itself again as DuckDB's process.
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

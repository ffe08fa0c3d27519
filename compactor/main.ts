/**
 * The compactor as a program. Permissions: set `compactor` of `deno.json`. A compiled binary also
 * starts itself to run DuckDB.
 */

import { VERSION } from "../shared/base/version.ts";
import { runProgram } from "../shared/config/run_program.ts";
import { isEngineProcess } from "../shared/engine/duckdb/process/engine_process.ts";
import { OPTIONS, runOnce, startCompactor } from "./mod.ts";

const PROGRAM = {
  name: "svc-compactor",
  summary: "Commits the write-ahead log to Iceberg tables and tidies up behind it.",
  options: OPTIONS,
  version: VERSION,
};

if (import.meta.main && !isEngineProcess()) {
  await runProgram(PROGRAM, async (settings, endRequested) => {
    if (settings.once) {
      const ending = new AbortController();
      endRequested.then(() => ending.abort(new Error("asked to end")));
      return await runOnce(settings, { signal: ending.signal });
    }
    await using _compactor = await startCompactor(settings);
    await endRequested;
    return undefined;
  });
}

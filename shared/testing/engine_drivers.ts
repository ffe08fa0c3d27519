/** The drivers of DuckDB that servers use: in this process, and in one of its own. */

import type { EngineDriver } from "../engine/duckdb/driver.ts";
import { nativeDriver } from "../engine/duckdb/native_driver.ts";
import { processDriver } from "../engine/duckdb/process/process_driver.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";

/** What a connection promises, it promises wherever its engine runs. */
export const DRIVERS: Readonly<Record<string, EngineDriver>> = {
  nativeDriver: nativeDriver({ readFile: (path) => Deno.readFile(path) }),
  processDriver: processDriver({
    engine: "light",
    headroomBytes: 2 ** 30,
    files: new DenoFileSystem(),
  }),
};

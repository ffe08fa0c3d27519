/**
 * DuckDB in the process of a test, for its query servers. A process for each is what a deployment
 * has, and takes half of the processor time of a server's start. Tests that judge memory, spilling,
 * deadlines or ends of that process keep it, and so do those of servers as programs.
 */

import type { EngineDriver } from "../engine/duckdb/driver.ts";
import { nativeDriver } from "../engine/duckdb/native_driver.ts";

/** For `asDriver` of `startQuery`. */
export const IN_THIS_PROCESS = {
  asDriver: (): EngineDriver => nativeDriver({ readFile: (path) => Deno.readFile(path) }),
} as const;

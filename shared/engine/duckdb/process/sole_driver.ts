/**
 * The driver of a DuckDB that one piece of work has for itself, in a process of its own, or in this
 * one.
 */

import type { FileSystem } from "../../../os/file_system.ts";
import type { EngineDriver } from "../driver.ts";
import { nativeDriver } from "../native_driver.ts";
import { processDriver } from "./process_driver.ts";
import { headroomBytesFor } from "./resident_watch.ts";

/** Where the DuckDB runs, and its memory in bytes. */
export interface SoleDriverOptions {
  /** Names it in the log. */
  readonly engine: string;
  /**
   * Whether it has a process, which is replaced when a statement cannot be ended otherwise. Else it
   * runs in this process. Such a statement then holds the process for good, and the process needs
   * the `ffi` permission.
   */
  readonly hasProcess: boolean;
  readonly memoryBytesMax: number;
  readonly files: FileSystem;
}

/** The driver for one piece of work, by `hasProcess`. */
export function soleDriver(
  { engine, hasProcess, memoryBytesMax, files }: SoleDriverOptions,
): EngineDriver {
  if (!hasProcess) return nativeDriver({ readFile: (path) => files.readFile(path) });
  return processDriver({ engine, headroomBytes: headroomBytesFor(memoryBytesMax), files });
}

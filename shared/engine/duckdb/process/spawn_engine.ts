/**
 * What a process may do that has a DuckDB and nothing else: load DuckDB's library, read packages,
 * sources and its own folder. It has no network, no environment, no program and no file to write.
 * DuckDB itself opens files below these walls, within its `allowed_directories`.
 */

import { resolve } from "node:path";
import { present } from "../../../base/assert.ts";
import { startChild, type StartedChild } from "../../../os/child_process.ts";
import { DenoFileSystem } from "../../../os/deno_file_system.ts";
import { ENGINE_PROCESS } from "./engine_process.ts";

/** Folder and log of a process. */
export interface SpawnOptions {
  readonly niceness: number;
  /** Folder of its spill files and profiles. */
  readonly scratchDir: string;
  /** Called with each line that the process writes to its standard error. */
  readonly onLine: (line: string) => void;
}

/** Starts such a process. Errors: those of `startChild`. */
export async function spawnEngine(
  { niceness, scratchDir, onLine }: SpawnOptions,
): Promise<StartedChild> {
  const here = present(import.meta.dirname);
  const sources = resolve(here, "../../..");
  const packages = resolve(sources, "../node_modules");
  return startChild({
    module: resolve(here, "engine_process.ts"),
    word: ENGINE_PROCESS,
    args: [String(niceness)],
    permissions: {
      read: [sources, packages, scratchDir],
      ffi: await libraryFolders(packages),
      sys: ["setPriority"],
    },
  }, onLine);
}

/**
 * Folders of DuckDB's library: the runtime installs each package below a folder of its name and
 * version.
 */
async function libraryFolders(packages: string): Promise<string[]> {
  const files = new DenoFileSystem();
  const installed = `${packages}/.deno`;
  const entries = await files.exists(installed) ? await files.readDir(installed) : [];
  const names = entries.map(({ name }) => name).filter((name) => name.startsWith("@duckdb+node-"));
  return [`${packages}/@duckdb`, ...names.toSorted().map((name) => `${installed}/${name}`)];
}

/**
 * A folder on a disk of this machine, where the kernel has names and sizes at hand: they are asked
 * for by synchronous calls, which take some microseconds. A hop to another thread and back takes
 * ten times as long, and much longer where all processors are busy. Not for network file systems,
 * which may be silent.
 */

import { DenoFileSystem, fileStat } from "./deno_file_system.ts";
import type { DirEntry, FileStat } from "./file_system.ts";

export class NearFileSystem extends DenoFileSystem {
  // Promises, as callers expect: what is thrown rejects.
  // deno-lint-ignore require-await
  override async stat(path: string): Promise<FileStat> {
    return fileStat(Deno.statSync(path));
  }

  // deno-lint-ignore require-await
  override async readDir(path: string): Promise<DirEntry[]> {
    return [...Deno.readDirSync(path)];
  }
}

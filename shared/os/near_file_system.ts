/**
 * A folder on a disk of this machine, where the kernel has names and sizes at hand. They are asked
 * for by synchronous calls, which take some microseconds, and so are files opened that are there. A
 * hop to another thread and back takes ten times as long, and much longer where all processors are
 * busy. Not for network file systems, which may be silent.
 *
 * Its files are made again after a crash, so they have no second handle that syncs.
 */

import { DenoFile, DenoFileSystem } from "./deno_file_system.ts";
import type { DirEntry, File, FileStat, ReadableFile } from "./file_system.ts";

export class NearFileSystem extends DenoFileSystem {
  // Promises, as callers expect: what is thrown rejects.
  // deno-lint-ignore require-await
  override async openRead(path: string): Promise<ReadableFile> {
    return this.blocking.openNow(path);
  }

  // deno-lint-ignore require-await
  override async openAppend(path: string): Promise<File> {
    const file = Deno.openSync(path, { read: true, write: true });
    return new DenoFile(file, path, { end: file.seekSync(0, Deno.SeekMode.End) });
  }

  /** It waits for the file system's journal, elsewhere. */
  override async create(path: string): Promise<File> {
    const file = await Deno.open(path, { read: true, write: true, createNew: true });
    return new DenoFile(file, path, { end: 0 });
  }

  // deno-lint-ignore require-await
  override async stat(path: string): Promise<FileStat> {
    return this.blocking.statNow(path);
  }

  // deno-lint-ignore require-await
  override async readDir(path: string): Promise<DirEntry[]> {
    return [...Deno.readDirSync(path)];
  }
}

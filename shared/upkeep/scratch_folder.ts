/**
 * A folder of one process below a shared one, for files that nobody needs after it. What processes
 * that are gone have left there is removed by the next: each holds a lock beside its folder for as
 * long as it lives.
 */

import { join } from "node:path";
import type { FileSystem } from "../os/file_system.ts";
import { type Random, uuidV4 } from "../os/random.ts";

const LOCK = ".lock";

export interface ScratchFolder extends AsyncDisposable {
  /** Absolute; it is there, and empty. */
  readonly path: string;
}

/** Errors: the file system's, when `parent` cannot be written. */
export async function openScratchFolder(
  parent: string,
  { files, random }: { readonly files: FileSystem; readonly random: Random },
): Promise<ScratchFolder> {
  await files.mkdir(parent);
  await removeOrphans(parent, files);
  const path = join(parent, uuidV4(random));
  const lock = await files.tryLock(`${path}${LOCK}`);
  await files.mkdir(path);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await files.removeTree(path);
      lock?.[Symbol.dispose]();
      await files.remove(`${path}${LOCK}`);
    },
  };
}

async function removeOrphans(parent: string, files: FileSystem): Promise<void> {
  for (const { name, isFile } of await files.readDir(parent)) {
    if (!isFile || !name.endsWith(LOCK)) continue;
    using lock = await files.tryLock(join(parent, name));
    if (lock === undefined) continue;
    const folder = join(parent, name.slice(0, -LOCK.length));
    if (await files.exists(folder)) await files.removeTree(folder);
    await files.remove(join(parent, name));
  }
}

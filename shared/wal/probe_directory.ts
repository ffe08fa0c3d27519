/** Whether a directory takes durable writes right now. */

import type { FileSystem } from "../os/file_system.ts";
import { probePath } from "./layout.ts";
import { removeIfPresent } from "./transfer.ts";

const PROBE_BYTES = 4096;

/** Creates, writes, syncs and removes a file in `directory`; throws what the file system throws. */
export async function probeDirectory(fs: FileSystem, directory: string): Promise<void> {
  const path = probePath(directory);
  await removeIfPresent(fs, path);
  try {
    await using file = await fs.create(path);
    await file.write(new Uint8Array(PROBE_BYTES));
    await file.sync();
  } finally {
    await removeIfPresent(fs, path);
  }
}

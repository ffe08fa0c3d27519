/** Files that are written at once. */

import type { FileSystem } from "./file_system.ts";

/**
 * Writes a file that must not exist. It is neither synced nor renamed, so nobody may read it before
 * this returns. On a full disk nothing of it stays. Errors: the file system's.
 */
export async function writeWhole(
  files: Pick<FileSystem, "create" | "remove">,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  await using file = await files.create(path);
  try {
    await file.write(bytes);
  } catch (error) {
    await files.remove(path).catch(() => {});
    throw error;
  }
}
